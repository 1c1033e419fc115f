"""Resources: every `SKILL.md` listed, every file of every skill readable (S4, S6, S14)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillwire.catalog.derived import Derived
from skillwire.catalog.library import Library
from skillwire.catalog.snapshot import Catalog
from skillwire.model.entry import Json, LiveFile
from skillwire.surfaces.base import Answer, Call, Method, Surface
from skillwire.surfaces.content import with_meta
from skillwire.surfaces.documents import Document
from skillwire.surfaces.paging import page
from skillwire.wire.messages import FILE_TEMPLATE, RESOURCES_LIST, RESOURCES_READ, RESOURCES_TEMPLATES
from skillwire.wire.translate import contents, file_resource


@dataclass(frozen=True, slots=True)
class _Listing:
    keys: tuple[str, ...]
    positions: Mapping[str, int]


class ResourcesSurface(Surface):
    """For every client: skills are ordinary resources."""

    name = "resources"

    def __init__(self, library: Library, documents: Sequence[Document] = ()) -> None:
        self._library = library
        self._documents = {document.uri: document for document in documents}
        self._listing = Derived(self._listed)

    def methods(self) -> Mapping[str, Method]:
        return {
            RESOURCES_LIST: self.list,
            RESOURCES_TEMPLATES: self.list_templates,
            RESOURCES_READ: self.read,
        }

    async def list(self, call: Call) -> Answer:
        """List each `SKILL.md`, then the documents. Supporting files are reached from their skill."""
        catalog = self._library.catalog
        listing = self._listing.of(catalog)
        shown = page(listing.keys, listing.positions.get, of=RESOURCES_LIST, cursor=call.cursor())
        return Answer(shown.result("resources", [self._resource(catalog, uri) for uri in shown.keys]))

    async def list_templates(self, call: Call) -> Answer:
        call.no_cursor()
        template: Json = {
            "uriTemplate": FILE_TEMPLATE,
            "name": "skill-file",
            "description": "A file of a skill: the path of the skill, then the path of the file in it",
        }
        return Answer({"resourceTemplates": [template]})

    async def read(self, call: Call) -> Answer:
        uri = call.text("uri")
        if (document := self._documents.get(uri)) is not None:
            rendered = document.render(self._library.catalog)
            return Answer({"contents": [contents(uri, document.mime_type, rendered)]})
        reading = await self._library.read(uri)
        file = reading.served.file
        block = with_meta(contents(uri, file.mime_type, reading.content), reading.served.entry)
        return Answer({"contents": [block]}, live=isinstance(file, LiveFile))

    def _listed(self, catalog: Catalog) -> "_Listing":
        documents = [uri for uri, document in self._documents.items() if document.listed(catalog)]
        keys = (*catalog.listing, *documents)
        return _Listing(keys, {uri: position for position, uri in enumerate(keys)})

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
