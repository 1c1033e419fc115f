"""Where skills come from, and what a source of your own is made of."""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.model.entry import LiveFile, SkillFile, SkillRecord
    from skillwire.model.limits import Limits
    from skillwire.sources.archive import ArchiveSource
    from skillwire.sources.base import EVERYWHERE, Attention, Locations, Progress, Scan, Source, unwatched
    from skillwire.sources.directory import FolderSource
    from skillwire.sources.git.mirror import GitSource
    from skillwire.sources.memory import MemorySkill, MemorySource
    from skillwire.sources.mount import Copy, Mirror, MountedSource
    from skillwire.sources.prefix import PrefixedSource
    from skillwire.sources.publisher.mirror import WebSource

__all__ = [
    "EVERYWHERE",
    "ArchiveSource",
    "Attention",
    "Copy",
    "FolderSource",
    "GitSource",
    "Limits",
    "LiveFile",
    "Locations",
    "MemorySkill",
    "MemorySource",
    "Mirror",
    "MountedSource",
    "PrefixedSource",
    "Progress",
    "Scan",
    "SkillFile",
    "SkillRecord",
    "Source",
    "WebSource",
    "unwatched",
]

if not TYPE_CHECKING:  # a type checker knows the names above, and no others
    __getattr__, __dir__ = exports(
        __name__,
        {
            **dict.fromkeys(["LiveFile", "SkillFile", "SkillRecord"], "skillwire.model.entry"),
            "Limits": "skillwire.model.limits",
            "ArchiveSource": "skillwire.sources.archive",
            **dict.fromkeys(
                ["EVERYWHERE", "Attention", "Locations", "Progress", "Scan", "Source", "unwatched"],
                "skillwire.sources.base",
            ),
            "FolderSource": "skillwire.sources.directory",
            "GitSource": "skillwire.sources.git.mirror",
            **dict.fromkeys(["MemorySkill", "MemorySource"], "skillwire.sources.memory"),
            **dict.fromkeys(["Copy", "Mirror", "MountedSource"], "skillwire.sources.mount"),
            "PrefixedSource": "skillwire.sources.prefix",
            "WebSource": "skillwire.sources.publisher.mirror",
        },
    )
