"""The sources of skills, and the types that a custom source uses."""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.core.problem import Problem, Rule, Severity
    from skillwire.core.record import Digest, Json, Limits, LiveFile, Origin, SkillFile, SkillRecord
    from skillwire.sources.archive import ArchiveSource
    from skillwire.sources.base import (
        EVERYWHERE,
        Locations,
        Progress,
        Scan,
        Source,
        WatchFilter,
        ignore_progress,
    )
    from skillwire.sources.fetched import FetchedSource, Fetcher, Snapshot
    from skillwire.sources.folder.source import FolderSource
    from skillwire.sources.git.source import GitSource
    from skillwire.sources.memory import MemorySkill, MemorySource
    from skillwire.sources.prefix import PrefixedSource
    from skillwire.sources.web.source import WebSource

__all__ = [
    "EVERYWHERE",
    "ArchiveSource",
    "Digest",
    "FetchedSource",
    "Fetcher",
    "FolderSource",
    "GitSource",
    "Json",
    "Limits",
    "LiveFile",
    "Locations",
    "MemorySkill",
    "MemorySource",
    "Origin",
    "PrefixedSource",
    "Problem",
    "Progress",
    "Rule",
    "Scan",
    "Severity",
    "SkillFile",
    "SkillRecord",
    "Snapshot",
    "Source",
    "WatchFilter",
    "WebSource",
    "ignore_progress",
]

if not TYPE_CHECKING:  # type checkers use the imports above
    __getattr__, __dir__ = exports(
        __name__,
        {
            **dict.fromkeys(["Problem", "Rule", "Severity"], "skillwire.core.problem"),
            **dict.fromkeys(
                ["Digest", "Json", "Limits", "LiveFile", "Origin", "SkillFile", "SkillRecord"],
                "skillwire.core.record",
            ),
            "ArchiveSource": "skillwire.sources.archive",
            **dict.fromkeys(
                ["EVERYWHERE", "WatchFilter", "Locations", "Progress", "Scan", "Source", "ignore_progress"],
                "skillwire.sources.base",
            ),
            "FolderSource": "skillwire.sources.folder.source",
            "GitSource": "skillwire.sources.git.source",
            **dict.fromkeys(["MemorySkill", "MemorySource"], "skillwire.sources.memory"),
            **dict.fromkeys(["Snapshot", "Fetcher", "FetchedSource"], "skillwire.sources.fetched"),
            "PrefixedSource": "skillwire.sources.prefix",
            "WebSource": "skillwire.sources.web.source",
        },
    )
