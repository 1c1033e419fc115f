"""Serve Agent Skills to any MCP client, and use other servers' skills safely.

    import skillwire as sw

Names are imported when they are first used. The MCP SDK is loaded when something is served or connected.
"""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire import errors
    from skillwire.authoring.live import LiveSkill, SkillRequest
    from skillwire.authoring.registry import Skills
    from skillwire.authoring.skill import Skill, SkillReference
    from skillwire.catalog.library import Library
    from skillwire.catalog.snapshot import Catalog
    from skillwire.drive.client import DriveClient
    from skillwire.host.bridge.source import ServerSource
    from skillwire.host.host import Host
    from skillwire.host.reaching.target import Target
    from skillwire.host.session.session import Session
    from skillwire.host.session.tools import AgentTool
    from skillwire.host.state.state import State
    from skillwire.model.entry import SkillRecord
    from skillwire.model.problem import Problem
    from skillwire.server.attaching import attach
    from skillwire.server.serve_options import ServeOptions
    from skillwire.server.skill_server import SkillServer
    from skillwire.sources.archive import ArchiveSource
    from skillwire.sources.base import Source
    from skillwire.sources.directory import FolderSource
    from skillwire.sources.git.mirror import GitSource
    from skillwire.sources.memory import MemorySource
    from skillwire.sources.publisher.mirror import WebSource

__version__ = "0.1.0"
__all__ = [
    "AgentTool",
    "ArchiveSource",
    "Catalog",
    "DriveClient",
    "FolderSource",
    "GitSource",
    "Host",
    "Library",
    "LiveSkill",
    "MemorySource",
    "Problem",
    "ServeOptions",
    "ServerSource",
    "Session",
    "Skill",
    "SkillRecord",
    "SkillReference",
    "SkillRequest",
    "SkillServer",
    "Skills",
    "Source",
    "State",
    "Target",
    "WebSource",
    "__version__",
    "attach",
    "errors",
]

if not TYPE_CHECKING:  # a type checker knows the names above, and no others
    __getattr__, __dir__ = exports(
        __name__,
        {
            "AgentTool": "skillwire.host.session.tools",
            "ArchiveSource": "skillwire.sources.archive",
            "Catalog": "skillwire.catalog.snapshot",
            "DriveClient": "skillwire.drive.client",
            "FolderSource": "skillwire.sources.directory",
            "GitSource": "skillwire.sources.git.mirror",
            "Host": "skillwire.host.host",
            "Library": "skillwire.catalog.library",
            "LiveSkill": "skillwire.authoring.live",
            "MemorySource": "skillwire.sources.memory",
            "Problem": "skillwire.model.problem",
            "ServeOptions": "skillwire.server.serve_options",
            "ServerSource": "skillwire.host.bridge.source",
            "Session": "skillwire.host.session.session",
            "Skill": "skillwire.authoring.skill",
            "SkillRecord": "skillwire.model.entry",
            "SkillReference": "skillwire.authoring.skill",
            "SkillRequest": "skillwire.authoring.live",
            "SkillServer": "skillwire.server.skill_server",
            "Skills": "skillwire.authoring.registry",
            "Source": "skillwire.sources.base",
            "State": "skillwire.host.state.state",
            "Target": "skillwire.host.reaching.target",
            "WebSource": "skillwire.sources.publisher.mirror",
            "attach": "skillwire.server.attaching",
            "errors": "skillwire.errors",
        },
    )
