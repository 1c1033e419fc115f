"""What is offered to whom: the skills of the catalogue under the names that they go by."""

from skillwire.catalog.change import Change
from skillwire.catalog.derived import Derived
from skillwire.catalog.library import Library
from skillwire.catalog.names import Names
from skillwire.catalog.snapshot import Catalog
from skillwire.catalog.visibility import VisibilityPolicy
from skillwire.model.display import one_line
from skillwire.model.entry import Entry, Json
from skillwire.wire.translate import skill_meta


class Offer:
    """The current skills for models and for people. Shared by the surfaces that offer them."""

    def __init__(
        self, library: Library, policy: VisibilityPolicy | None = None, *, frozen: bool = False
    ) -> None:
        """With `frozen`, the skills are offered that there were when the library was loaded."""
        self._frozen = frozen
        self.library = library
        self._policy = policy or VisibilityPolicy()
        self._names = Derived(self._named)
        self._for_models = Derived(lambda catalog: self._chosen(catalog, assistant=True))
        self._for_people = Derived(lambda catalog: self._chosen(catalog, assistant=False))

    @property
    def catalog(self) -> Catalog:
        """The catalogue that decides what is offered."""
        return self.library.loaded if self._frozen else self.library.catalog

    def now(self, entry: Entry) -> Entry:
        """Return an offered skill as it is at this moment."""
        return self.library.catalog.entries.get(entry.uri, entry)

    @property
    def names(self) -> Names:
        return self._names.of(self.catalog)

    def decisive(self, offered: Entry, read: Entry) -> Entry:
        """Return which of the two decides: what was offered while frozen, else what was read just now."""
        return offered if self._frozen else read

    def knows(self, entry: Entry) -> bool:
        """Whether models and people may hear of a skill at all."""
        return not self._policy.withholds(entry)

    def is_for_models(self, entry: Entry) -> bool:
        return self._is_for(entry, assistant=True)

    def is_for_people(self, entry: Entry) -> bool:
        return self._is_for(entry, assistant=False)

    def for_models(self) -> dict[str, Entry]:
        """Return the skills that a model may load by itself, by the names they go by, in listing order."""
        return self._for_models.of(self.catalog)

    def for_people(self) -> dict[str, Entry]:
        """Return the skills that a person may start, by the names they go by, in listing order."""
        return self._for_people.of(self.catalog)

    def differs(self, change: Change, *, assistant: bool) -> bool:
        """Whether somebody is offered other skills than before, or the same in other words."""
        if self._frozen:
            return False
        if any(
            self._shown(edit.before, assistant=assistant) != self._shown(edit.after, assistant=assistant)
            for edit in change.edits
        ):
            return True
        renamed = change.before.shared_names.keys() ^ change.after.shared_names.keys()
        entries = (change.after.entries.get(uri) for uri in renamed)
        return any(entry is not None and self._is_for(entry, assistant=assistant) for entry in entries)

    def _named(self, catalog: Catalog) -> Names:
        entries = catalog.entries
        if any(map(self._policy.withholds, entries.values())):
            entries = {uri: entry for uri, entry in entries.items() if self.knows(entry)}
        return Names(catalog, entries, by_path=self._policy.by_path)

    def _shown(self, entry: Entry | None, *, assistant: bool) -> tuple[str, dict[str, Json]] | None:
        """Return what is told of a skill; None where it is not offered."""
        if entry is None or not self._is_for(entry, assistant=assistant):
            return None
        return one_line(entry.shown_description), {} if assistant else skill_meta(entry)

    def _chosen(self, catalog: Catalog, *, assistant: bool) -> dict[str, Entry]:
        names = self._names.of(catalog)
        chosen = (entry for entry in catalog.entries.values() if self._is_for(entry, assistant=assistant))
        return {names.handle(entry): entry for entry in chosen}

    def _is_for(self, entry: Entry, *, assistant: bool) -> bool:
        visibility = self._policy.of(entry)
        return visibility.assistant if assistant else visibility.user
