"""Resources: every `SKILL.md` listed, every file of every skill readable (S4, S6, S14)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillwire.catalog.library import Library
from skillwire.catalog.snapshot import Catalog
from skillwire.model.entry import Json, LiveFile
from skillwire.surfaces.base import Answer, Call, Method, Surface
from skillwire.surfaces.documents import Document
from skillwire.surfaces.paging import page
from skillwire.wire.messages import RESOURCES_LIST, RESOURCES_READ, RESOURCES_TEMPLATES
from skillwire.wire.translate import contents, file_resource


@dataclass(frozen=True, slots=True)
class _Listing:
    catalog: Catalog
    keys: tuple[str, ...]
    positions: Mapping[str, int]


class ResourcesSurface(Surface):
    """For every client: skills are ordinary resources."""

    name = "resources"

    def __init__(self, library: Library, documents: Sequence[Document] = ()) -> None:
        self._library = library
        self._documents = {document.uri: document for document in documents}
        self._listing: _Listing | None = None

    def methods(self) -> Mapping[str, Method]:
        return {
            RESOURCES_LIST: self.list,
            RESOURCES_TEMPLATES: self.list_templates,
            RESOURCES_READ: self.read,
        }

    async def list(self, call: Call) -> Answer:
        """List each `SKILL.md`, then the documents. Supporting files are reached from their skill."""
        listing = self._listing_of(self._library.catalog)
        shown = page(listing.keys, listing.positions.get, of=RESOURCES_LIST, cursor=call.cursor())
        return Answer(shown.result("resources", [self._resource(listing.catalog, uri) for uri in shown.keys]))

    async def list_templates(self, call: Call) -> Answer:
        page((), lambda _: None, of=RESOURCES_TEMPLATES, cursor=call.cursor())  # there is nothing to continue
        return Answer({"resourceTemplates": []})

    async def read(self, call: Call) -> Answer:
        uri = call.text("uri")
        if (document := self._documents.get(uri)) is not None:
            rendered = document.render(self._library.catalog)
            return Answer({"contents": [contents(uri, document.mime_type, rendered)]})
        reading = await self._library.read(uri)
        file = reading.served.file
        return Answer(
            {"contents": [contents(uri, file.mime_type, reading.content)]}, live=isinstance(file, LiveFile)
        )

    def _listing_of(self, catalog: Catalog) -> "_Listing":
        """Return the keys of this catalogue's list, made once for each catalogue and not for each page."""
        if self._listing is None or self._listing.catalog is not catalog:
            documents = [uri for uri, document in self._documents.items() if document.listed(catalog)]
            keys = (*catalog.listing, *documents)
            self._listing = _Listing(catalog, keys, {uri: position for position, uri in enumerate(keys)})
        return self._listing

    def _resource(self, catalog: Catalog, uri: str) -> dict[str, Json]:
        if (document := self._documents.get(uri)) is not None:
            return {
                "uri": uri,
                "name": document.name,
                "description": document.description,
                "mimeType": document.mime_type,
            }
        entry = catalog.entries[uri]
        return file_resource(uri, entry, entry.files[0])
