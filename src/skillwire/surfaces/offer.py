"""What is offered to whom: the skills of the catalogue under the names that they go by."""

from skillwire.catalog.derived import Derived
from skillwire.catalog.library import Library
from skillwire.catalog.names import Names
from skillwire.catalog.snapshot import Catalog
from skillwire.catalog.visibility import VisibilityPolicy
from skillwire.model.entry import Entry


class Offer:
    """The current skills for models and for people. Shared by the surfaces that offer them."""

    def __init__(self, library: Library, policy: VisibilityPolicy | None = None) -> None:
        self.library = library
        self._policy = policy or VisibilityPolicy()
        self._names = Derived(Names)
        self._for_models = Derived(lambda catalog: self._chosen(catalog, assistant=True))
        self._for_people = Derived(lambda catalog: self._chosen(catalog, assistant=False))

    @property
    def catalog(self) -> Catalog:
        return self.library.catalog

    @property
    def names(self) -> Names:
        return self._names.of(self.catalog)

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

    def _chosen(self, catalog: Catalog, *, assistant: bool) -> dict[str, Entry]:
        names = self._names.of(catalog)
        chosen = (entry for entry in catalog.entries.values() if self._is_for(entry, assistant=assistant))
        return {names.handle(entry): entry for entry in chosen}

    def _is_for(self, entry: Entry, *, assistant: bool) -> bool:
        visibility = self._policy.of(entry)
        return visibility.assistant if assistant else visibility.user
