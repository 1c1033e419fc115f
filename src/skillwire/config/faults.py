"""Report why a source has no skills: the fault itself, and not where to look for it."""

import os
from collections.abc import Sequence
from dataclasses import replace

from skillwire.config.source_kinds import is_local
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.library.library import Library
from skillwire.sources.base import Scan, Source

_REASONS = frozenset({Rule.SOURCE_WAITING, Rule.SKILL_FILE_NAME})
"""Rules whose violations are warnings, and reasons why a source has no skills."""
MAX_SHOWN = 10
"""Maximum number of problems of one source that are printed."""


def faults_of_empty_sources(library: Library) -> Sequence[Problem]:
    """Return the errors of the sources that have no skill, at most `MAX_SHOWN` of each source.

    Their paths begin with the source as the operator wrote it.
    """
    return [fault for source in library.sources for fault in faults_of(library, source)]


def faults_of(library: Library, source: Source) -> Sequence[Problem]:
    """Return the errors of one source, as `faults_of_empty_sources` does. Empty if it has a skill."""
    scan = library.scans.get(source.label, Scan())
    if scan.entries or scan.templates:
        return ()
    errors = [
        problem for problem in scan.problems if problem.severity is Severity.ERROR or problem.rule in _REASONS
    ]
    return [replace(each, path=join_place(source.place, each.path)) for each in errors[:MAX_SHOWN]]


def join_place(place: str, path: str) -> str:
    """Return a path in a source, beginning with the place of the source."""
    if path == ".":
        return place
    if not is_local(place):
        return f"{place.rstrip('/')}/{path}"
    return os.path.normpath(os.path.join(place, path))  # noqa: PTH118
