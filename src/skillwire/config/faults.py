"""Report why a source has no skills: the fault itself, and not where to look for it."""

from collections.abc import Sequence
from dataclasses import replace

from skillwire.config.report import join_place
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.library.library import Library
from skillwire.sources.base import Scan

MAX_SHOWN = 10
"""Maximum number of problems of one source that are printed."""


def faults_of_empty_sources(library: Library) -> Sequence[Problem]:
    """Return the errors of the sources that have no skill, at most `MAX_SHOWN` of each source.

    Their paths begin with the source as the operator wrote it.
    """
    found: list[Problem] = []
    for source in library.sources:
        scan = library.scans.get(source.label, Scan())
        if scan.entries or scan.templates:
            continue
        errors = [
            problem
            for problem in scan.problems
            if problem.severity is Severity.ERROR or problem.rule is Rule.SOURCE_WAITING
        ]
        found.extend(replace(each, path=join_place(source.place, each.path)) for each in errors[:MAX_SHOWN])
    return found
