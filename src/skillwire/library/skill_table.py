"""All skills of a catalog: by URI, by name and in listing order. Changed copies share what is unchanged."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import ItemsView, Self, TypeAlias, TypeVar, ValuesView, cast, overload  # noqa: UP035 - to subclass the views

from skillwire.core.record import SkillRecord, Trust
from skillwire.core.shared_mapping import SharedMapping
from skillwire.core.sorted_items import SortedItems

Default = TypeVar("Default")
_Sharing: TypeAlias = SkillRecord | tuple[SkillRecord, ...]
"""The skill with a name, or all skills with it if there are several."""
_BLOCK = 256
"""Number of skills that are taken from a sequence at once."""


class _SourceSkills:
    """The skills of one source, in its order."""

    __slots__ = ("_positions", "records")

    def __init__(self, records: Sequence[SkillRecord]) -> None:
        self.records = records
        self._positions: dict[str, int] | None = None

    def position(self, entry: SkillRecord) -> int | None:
        """Return the index of a skill. Only the first call for a sequence that is not sorted looks at all."""
        if isinstance(self.records, SortedItems):
            at = self.records.position_of(entry)
            return at if at is not None and self.records[at].uri == entry.uri else None
        if self._positions is None:
            self._positions = {each.uri: at for at, each in enumerate(self.records)}
        return self._positions.get(entry.uri)


class SkillTable(Mapping[str, SkillRecord]):
    """The skills by the URI of their `SKILL.md`. Iteration is in listing order: source by source."""

    __slots__ = ("_by_name", "_by_uri", "_ends", "_sources", "problem_count", "withheld_count")

    def __init__(self, sources: Iterable[Sequence[SkillRecord]] = ()) -> None:
        """Combine the skills of each source. All URIs must differ."""
        self._sources = [_SourceSkills(records) for records in sources]
        self._ends = list(accumulate(len(each.records) for each in self._sources))
        by_uri: dict[str, SkillRecord] = {}
        by_name: dict[str, _Sharing] = {}
        shared: dict[str, list[SkillRecord]] = {}
        withheld = problems = 0
        for entry in self.values():
            by_uri[entry.uri] = entry
            if (first := by_name.setdefault(name := entry.name, entry)) is not entry:
                shared.setdefault(name, [cast("SkillRecord", first)]).append(entry)
            withheld += entry.trust is Trust.WITHHELD
            problems += len(entry.problems)
        self.withheld_count = withheld
        """The number of skills that are withheld."""
        self.problem_count = problems
        """The number of problems of all skills."""
        self._by_uri = SharedMapping(by_uri)
        self._by_name = SharedMapping(by_name | {name: tuple(each) for name, each in shared.items()})

    def updated(
        self,
        sources: Iterable[Sequence[SkillRecord]],
        gone: Collection[SkillRecord],
        new: Collection[SkillRecord],
    ) -> Self:
        """Return a copy for the same number of sources, without `gone` and with `new`."""
        copy = object.__new__(type(self))
        copy._sources = [
            known if known.records is records else _SourceSkills(records)
            for known, records in zip(self._sources, sources, strict=True)
        ]
        copy._ends = list(accumulate(len(each.records) for each in copy._sources))
        copy._by_uri = self._by_uri.updated(
            [entry.uri for entry in gone], {entry.uri: entry for entry in new}
        )
        named = {name: copy._sharing(name, self, new) for name in {entry.name for entry in (*gone, *new)}}
        left = {name: sharing for name, sharing in named.items() if sharing}
        single: dict[str, _Sharing] = {name: each[0] for name, each in left.items() if len(each) == 1}
        copy._by_name = self._by_name.updated(named.keys() - left.keys(), left | single)
        copy.withheld_count = self.withheld_count - sum(map(_is_withheld, gone)) + sum(map(_is_withheld, new))
        copy.problem_count = (
            self.problem_count
            - sum(len(entry.problems) for entry in gone)
            + sum(len(entry.problems) for entry in new)
        )
        return copy

    def _sharing(
        self, name: str, before: "SkillTable", new: Iterable[SkillRecord]
    ) -> tuple[SkillRecord, ...]:
        """Return all skills with this name, in listing order."""
        uris = {entry.uri for entry in chain(before.named(name), new) if entry.name == name}
        entries = [entry for uri in uris if (entry := self.get(uri)) is not None and entry.name == name]
        return tuple(self.in_order(entries))

    def named(self, name: str) -> tuple[SkillRecord, ...]:
        """Return all skills with this name, in listing order."""
        found = self._by_name.get(name, ())
        return found if isinstance(found, tuple) else (found,)

    def shared_names(self) -> Iterator[str]:
        """Yield the names that several skills have. Passes over all names."""
        return (each[0].name for each in self._by_name.values() if isinstance(each, tuple))

    @property
    def labels(self) -> list[str]:
        """The labels of the sources that have skills, in order."""
        return list(
            dict.fromkeys(each.records[0].origin.source for each in self._sources if len(each.records))
        )

    def position(self, uri: str) -> int | None:
        """Return the index of a skill in listing order, or None if there is no skill at this URI."""
        if (entry := self.get(uri)) is None:
            return None
        start = 0
        for source, end in zip(self._sources, self._ends, strict=True):
            if (at := source.position(entry)) is not None:
                return start + at
            start = end
        return None

    def in_order(self, entries: Collection[SkillRecord]) -> list[SkillRecord]:
        """Return skills of this table in listing order."""
        if len(entries) < 2:
            return list(entries)
        if len(entries) > len(self) // 16:
            chosen = {entry.uri for entry in entries}
            return [entry for entry in self.values() if entry.uri in chosen]
        return sorted(entries, key=lambda entry: self.position(entry.uri) or 0)

    def records_from(self, start: int) -> Iterator[SkillRecord]:
        """Yield all skills from the index `start` on."""
        if start == 0:
            yield from chain.from_iterable(each.records for each in self._sources)
            return
        first = bisect_right(self._ends, start)
        at = start - (self._ends[first - 1] if first else 0)
        for source in self._sources[first:]:
            for begin in range(at, len(source.records), _BLOCK):
                yield from source.records[begin : begin + _BLOCK]
            at = 0

    def differences(self, before: "SkillTable") -> list[tuple[SkillRecord | None, SkillRecord | None]]:
        """Return each skill that is not the same object in both, as it was before and as it is now.

        First those that are gone, then the others, each in listing order. Parts that the two tables share
        are skipped.
        """
        uris = self._by_uri.changed_keys(before._by_uri)  # noqa: SLF001 - of the same class
        gone = [entry for uri in uris if uri not in self and (entry := before.get(uri)) is not None]
        others = [entry for uri in uris if (entry := self.get(uri)) is not None]
        return [
            *((entry, None) for entry in before.in_order(gone)),
            *((before.get(entry.uri), entry) for entry in self.in_order(others)),
        ]

    @overload
    def get(self, key: str, /) -> SkillRecord | None: ...
    @overload
    def get(self, key: str, /, default: SkillRecord | Default) -> SkillRecord | Default: ...
    def get(self, key: str, /, default: object = None) -> object:
        return self._by_uri.get(key, default)

    def __getitem__(self, uri: str) -> SkillRecord:
        return self._by_uri[uri]

    def __contains__(self, uri: object) -> bool:
        return uri in self._by_uri

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[str]:
        return (entry.uri for entry in self.values())

    def values(self) -> ValuesView[SkillRecord]:
        return _Records(self)

    def items(self) -> ItemsView[str, SkillRecord]:
        return _Items(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"


class _Records(ValuesView[SkillRecord]):
    _mapping: SkillTable

    def __iter__(self) -> Iterator[SkillRecord]:
        return self._mapping.records_from(0)


class _Items(ItemsView[str, SkillRecord]):
    _mapping: SkillTable

    def __iter__(self) -> Iterator[tuple[str, SkillRecord]]:
        return ((entry.uri, entry) for entry in self._mapping.values())


class Positions(Mapping[str, int]):
    """The index of each skill in listing order, by URI."""

    __slots__ = ("_table",)

    def __init__(self, table: SkillTable) -> None:
        self._table = table

    def __getitem__(self, uri: str) -> int:
        if (at := self._table.position(uri)) is None:
            raise KeyError(uri)
        return at

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


def _is_withheld(entry: SkillRecord) -> bool:
    return entry.trust is Trust.WITHHELD
