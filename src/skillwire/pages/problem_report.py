"""All problems of a catalog, each with its source and its skill, so that every page counts the same ones."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
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


class ProblemReport:
    """The problems of one catalog as JSON, and their numbers.

    A withheld skill counts as a warning. A problem that several skills share, such as a name, counts once in
    `rows`, and belongs to each of these skills in `of_skill`.
    """

    def __init__(self, catalog: Catalog, found: Iterable[Problem], labels: Sequence[str]) -> None:
        """Report the problems in `found`. `labels` are the labels of all sources."""
        self._catalog = catalog
        skills = {_shown_path(catalog, entry): entry for entry in catalog.entries.values()}
        self.rows: list[Row] = []
        self._by_skill: defaultdict[str, list[Row]] = defaultdict(list)
        self._shared: dict[Problem, Row] = {}
        shared = set(catalog.shared_names.values())
        for problem in found:
            entry = skills.get(problem.path)
            row = _row(problem.to_json(), _source(catalog, problem.path, labels), entry)
            self._add(row)
            if problem in shared:
                self._shared[problem] = row
        for entry in catalog.withheld:
            self._add(_row(catalog.withheld_report(entry), entry.origin.source, entry))
        self._groups = Counter(
            _Group(str(row["rule"]), str(row["severity"]), str(row["source"])) for row in self.rows
        )

    def _add(self, row: Row) -> None:
        self.rows.append(row)
        if row["uri"]:
            self._by_skill[str(row["uri"])].append(row)

    def of_skill(self, entry: SkillRecord) -> list[Row]:
        """Return the problems of a served skill."""
        own = self._by_skill.get(entry.uri, [])
        shared = self._catalog.shared_names.get(entry.uri)
        row = None if shared is None else self._shared.get(shared)
        return own if row is None or row in own else [*own, row]

    def count(self, severity: Severity, source: str | None = None) -> int:
        """Return the number of problems of this severity, in all sources or in one."""
        return sum(
            number
            for group, number in self._groups.items()
            if group.severity == severity and source in {None, group.source}
        )

    def groups(self) -> list[Row]:
        """Return how many problems each combination of rule, severity and source has."""
        return [
            {"rule": group.rule, "severity": group.severity, "source": group.source, "count": number}
            for group, number in self._groups.items()
        ]

    def first(self, limit: int) -> list[Row]:
        """Return at most `limit` problems, some of each group, and errors before warnings."""
        if len(self.rows) <= limit:
            return list(self.rows)
        seen = Counter[tuple[Json, Json, Json]]()
        ranks: list[tuple[int, bool, int]] = []
        for at, row in enumerate(self.rows):
            group = row["rule"], row["severity"], row["source"]
            ranks.append((seen[group], row["severity"] != Severity.ERROR, at))
            seen[group] += 1
        chosen = sorted(at for _, _, at in sorted(ranks)[:limit])
        return [self.rows[at] for at in chosen]


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
