"""All problems of a catalog, each with its source and its skill, so that every page counts the same ones."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from skillwire.core.problem import Problem, Severity
from skillwire.core.record import Json, SkillRecord
from skillwire.library.catalog import Catalog
from skillwire.safe_text import escape_invisible

Row = dict[str, Json]


@dataclass(frozen=True, slots=True)
class _Group:
    """What problems are grouped by."""

    rule: str
    severity: str
    source: str


@dataclass(frozen=True, slots=True)
class _Reported:
    """A problem with its group and its skill. Becomes JSON only when it is shown."""

    problem: Problem | None
    group: _Group
    entry: SkillRecord | None


class ProblemReport:
    """The problems of one catalog as JSON, and their numbers.

    A withheld skill counts as a warning. A problem that several skills share, such as a name, counts once in
    `rows`, and belongs to each of these skills in `of_skill`.
    """

    def __init__(self, catalog: Catalog, found: Sequence[Problem], labels: Sequence[str]) -> None:
        """Report the problems in `found`. `labels` are the labels of all sources."""
        self._catalog = catalog
        self._reported: list[_Reported] = []
        self._places: defaultdict[_Group, list[int]] = defaultdict(list)
        """The indexes of the problems of each group."""
        self._by_skill: defaultdict[str, list[int]] = defaultdict(list)
        """The indexes of the problems of each skill, by its URI."""
        self._shared: dict[Problem, int] = {}
        paths = {problem.path for problem in found}
        every = catalog.entries.values() if paths else ()
        skills = {path: entry for entry in every if (path := _shown_path(catalog, entry)) in paths}
        shared = set(catalog.shared_names.values())
        for problem in found:
            if problem in shared:
                self._shared[problem] = len(self._reported)
            group = _Group(problem.rule.value, problem.severity.value, _source(catalog, problem.path, labels))
            self._add(_Reported(problem, group, skills.get(problem.path)))
        for entry in catalog.withheld:
            report = catalog.withheld_report(entry)
            group = _Group(str(report["rule"]), str(report["severity"]), entry.origin.source)
            self._add(_Reported(None, group, entry))

    @property
    def rows(self) -> list[Row]:
        """All problems."""
        return [self._row(at) for at in range(len(self._reported))]

    def _add(self, reported: _Reported) -> None:
        at = len(self._reported)
        self._reported.append(reported)
        self._places[reported.group].append(at)
        if reported.entry is not None:
            self._by_skill[reported.entry.uri].append(at)

    def _row(self, at: int) -> Row:
        problem, group, entry = (one := self._reported[at]).problem, one.group, one.entry
        if problem is not None:
            return _row(problem.to_json(), group.source, entry)
        assert entry is not None
        return _row(self._catalog.withheld_report(entry), group.source, entry)

    def number_of_skill(self, entry: SkillRecord) -> int:
        """Return the number of problems of a served skill."""
        return len(self._of_skill(entry))

    def of_skill(self, entry: SkillRecord) -> list[Row]:
        """Return the problems of a served skill."""
        return [self._row(at) for at in self._of_skill(entry)]

    def _of_skill(self, entry: SkillRecord) -> list[int]:
        own = self._by_skill.get(entry.uri, [])
        shared = self._catalog.shared_names.get(entry.uri)
        at = None if shared is None else self._shared.get(shared)
        return own if at is None or at in own else [*own, at]

    def count(self, severity: Severity, source: str | None = None) -> int:
        """Return the number of problems of this severity, in all sources or in one."""
        return sum(
            len(places)
            for group, places in self._places.items()
            if group.severity == severity and source in {None, group.source}
        )

    def groups(self) -> list[Row]:
        """Return how many problems each combination of rule, severity and source has."""
        return [
            {"rule": group.rule, "severity": group.severity, "source": group.source, "count": len(places)}
            for group, places in self._places.items()
        ]

    def first(self, limit: int) -> list[Row]:
        """Return at most `limit` problems, some of each group, and errors before warnings."""
        # The first of each group, then the second of each, and so on.
        ranked = sorted(
            (rank, group.severity != Severity.ERROR, at)
            for group, places in self._places.items()
            for rank, at in enumerate(places[:limit])
        )
        return [self._row(at) for at in sorted(at for _, _, at in ranked[:limit])]


def _shown_path(catalog: Catalog, entry: SkillRecord) -> str:
    origin = entry.origin
    return f"{origin.source}/{origin.path}" if catalog.has_several_sources else origin.path


def _source(catalog: Catalog, path: str, labels: Sequence[str]) -> str:
    """Return the label of the source that a problem's path belongs to; empty if there is none."""
    if not catalog.has_several_sources:
        return labels[0] if labels else ""
    label = path.partition("/")[0]
    return label if label in labels else ""


def _row(report: dict[str, str | int | None], source: str, entry: SkillRecord | None) -> Row:
    return {
        **report,
        "message": escape_invisible(str(report["message"])),
        "hint": escape_invisible(str(report["hint"])),
        "source": source,
        "uri": "" if entry is None else entry.uri,
    }
