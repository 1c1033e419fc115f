"""Serve Agent Skills to any MCP client, and use other servers' skills safely.

    import skillwire as sw

Each name is imported when it is first used. Only `attach`, `Host`, `Session`, `ServerSource` and a running
server load the MCP SDK.
"""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire import errors
    from skillwire.app.attach import attach
    from skillwire.app.serve import serve
    from skillwire.app.skill_server import SkillServer
    from skillwire.authoring.live import LiveSkill, SkillRequest
    from skillwire.authoring.skill import Skill, SkillReference
    from skillwire.authoring.skills import Skills
    from skillwire.core.problem import Problem
    from skillwire.core.record import SkillRecord
    from skillwire.drive.client import DriveClient
    from skillwire.host.connections.target import Target
    from skillwire.host.host import Host
    from skillwire.host.servers.source import ServerSource
    from skillwire.host.session.session import Session
    from skillwire.host.session.tools import AgentTool
    from skillwire.host.store.state import State
    from skillwire.library.catalog import Catalog
    from skillwire.library.library import Library
    from skillwire.library.search import SearchResult, SearchResults
    from skillwire.registry.source import RegistrySource
    from skillwire.server.serve_options import ServeOptions
    from skillwire.sources.archive import ArchiveSource
    from skillwire.sources.base import Source
    from skillwire.sources.folder.source import FolderSource
    from skillwire.sources.git.source import GitSource
    from skillwire.sources.memory import MemorySource
    from skillwire.sources.web.source import WebSource

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
    "RegistrySource",
    "SearchResult",
    "SearchResults",
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
    "serve",
]

if not TYPE_CHECKING:  # a type checker knows the names above, and no others
    __getattr__, __dir__ = exports(
        __name__,
        {
            "AgentTool": "skillwire.host.session.tools",
            "ArchiveSource": "skillwire.sources.archive",
            "Catalog": "skillwire.library.catalog",
            "DriveClient": "skillwire.drive.client",
            "FolderSource": "skillwire.sources.folder.source",
            "GitSource": "skillwire.sources.git.source",
            "Host": "skillwire.host.host",
            "Library": "skillwire.library.library",
            "LiveSkill": "skillwire.authoring.live",
            "MemorySource": "skillwire.sources.memory",
            "Problem": "skillwire.core.problem",
            "RegistrySource": "skillwire.registry.source",
            "SearchResult": "skillwire.library.search",
            "SearchResults": "skillwire.library.search",
            "ServeOptions": "skillwire.server.serve_options",
            "ServerSource": "skillwire.host.servers.source",
            "Session": "skillwire.host.session.session",
            "Skill": "skillwire.authoring.skill",
            "SkillRecord": "skillwire.core.record",
            "SkillReference": "skillwire.authoring.skill",
            "SkillRequest": "skillwire.authoring.live",
            "SkillServer": "skillwire.app.skill_server",
            "Skills": "skillwire.authoring.skills",
            "Source": "skillwire.sources.base",
            "State": "skillwire.host.store.state",
            "Target": "skillwire.host.connections.target",
            "WebSource": "skillwire.sources.web.source",
            "attach": "skillwire.app.attach",
            "errors": "skillwire.errors",
            "serve": "skillwire.app.serve",
        },
    )
