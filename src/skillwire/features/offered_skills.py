"""The skills that are offered to models or to people, by name. They are looked up when they are needed."""

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView

from skillwire.core.record import SkillRecord
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change
from skillwire.library.names import Names


class OfferedSkills(Mapping[str, SkillRecord]):
    """The skills of one catalog that an audience may start, by their handles, in listing order."""

    __slots__ = ("_catalog", "_count", "_for_models", "_names")

    def __init__(self, catalog: Catalog, names: Names, count: int, *, for_models: bool) -> None:
        """`count` is the result of `count_offered`."""
        self._catalog, self._names, self._count, self._for_models = catalog, names, count, for_models

    def __getitem__(self, handle: str) -> SkillRecord:
        entry = self._names.with_handle(handle)
        if entry is None or not self.has(entry):
            raise KeyError(handle)
        return entry

    def __iter__(self) -> Iterator[str]:
        return map(self._names.handle, self.values())

    def __len__(self) -> int:
        return self._count

    def has(self, entry: SkillRecord) -> bool:
        """Return whether a skill of the catalog is offered."""
        return self._catalog.visibility.allows(entry, assistant=self._for_models)

    def handle(self, uri: str) -> str:
        """Return the handle of the skill with this URI."""
        return self._names.handle(self._catalog.entries[uri])

    def values(self) -> ValuesView[SkillRecord]:
        return _Values(self)

    def items(self) -> ItemsView[str, SkillRecord]:
        return _Items(self)

    def entries(self, start: int = 0) -> Iterator[SkillRecord]:
        """Yield the skills in listing order, from a position among all skills of the catalog on."""
        return filter(self.has, self._catalog.entries.records_from(start))


class _Values(ValuesView[SkillRecord]):
    _mapping: OfferedSkills

    def __iter__(self) -> Iterator[SkillRecord]:
        return self._mapping.entries()


class _Items(ItemsView[str, SkillRecord]):
    _mapping: OfferedSkills

    def __iter__(self) -> Iterator[tuple[str, SkillRecord]]:
        return ((handle, entry) for handle, entry in zip(self._mapping, self._mapping.entries(), strict=True))


def count_offered(catalog: Catalog, *, for_models: bool) -> int:
    """Return how many skills of a catalog an audience may start."""
    allows = catalog.visibility.allows
    return sum(allows(entry, assistant=for_models) for entry in catalog.entries.values())


def recount_offered(count: int, change: Change, *, for_models: bool) -> int:
    """Return how many skills an audience may start after a change, if there were `count` before."""
    return (
        count
        - len(offered_uris(change.before, affected_uris(change), for_models=for_models))
        + len(offered_uris(change.after, affected_uris(change), for_models=for_models))
    )


def offered_uris(catalog: Catalog, uris: Iterable[str], *, for_models: bool) -> set[str]:
    """Return those URIs at which a catalog has a skill that an audience may start."""
    found = ((uri, catalog.entries.get(uri)) for uri in uris)
    allows = catalog.visibility.allows
    return {uri for uri, entry in found if entry is not None and allows(entry, assistant=for_models)}


def affected_uris(change: Change) -> set[str]:
    """Return the URIs of the skills whose visibility may have changed."""
    return {each.uri for edit in change.edits for each in edit.entries} | change.visibility_changed_uris
