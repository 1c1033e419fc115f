"""Skills as MCP resources, and the interfaces for further documents and addresses."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from skillwire.core.mime import JSON
from skillwire.core.names import SCHEME
from skillwire.core.problem import Problem
from skillwire.core.record import Json, LiveFile, SkillRecord
from skillwire.features.base import Answer, Call, Feature, ListKind, Method, page
from skillwire.features.content import RuntimeMeta, no_meta, with_meta
from skillwire.library.catalog import Catalog, CatalogMemo
from skillwire.library.change import Change, Edit
from skillwire.library.library import Library
from skillwire.protocol.messages import FILE_TEMPLATE, RESOURCES_LIST, RESOURCES_READ, RESOURCES_TEMPLATES
from skillwire.protocol.translate import contents, file_resource, skill_meta, template_resource
from skillwire.sources.base import Validator

Problems: TypeAlias = Callable[[Catalog], tuple[Problem, ...]]
"""Returns what is wrong in a catalogue."""


class Document(ABC):
    """A resource made from the catalogue. Listed after the skills."""

    uri: str
    name: str
    description: str
    mime_type: str

    @abstractmethod
    def listed(self, catalog: Catalog) -> bool:
        """Whether there is anything to show. It can be read in any case."""

    @abstractmethod
    def differs(self, change: Change) -> bool:
        """Whether it is another document now."""

    @abstractmethod
    async def render(self, catalog: Catalog) -> bytes:
        """Return the document for this catalogue."""


class UnlistedResources(ABC):
    """Further addresses at which something of a skill can be read, for those who know them."""

    scheme: str = SCHEME
    """What all of them begin with."""

    @abstractmethod
    def serves(self, uri: str) -> bool:
        """Whether something can be read at `uri`, now."""

    @abstractmethod
    def find_owner(self, uri: str) -> SkillRecord | None:
        """Return the skill that can be read at `uri`, now."""

    @abstractmethod
    async def read(self, uri: str) -> list[Json]:
        """Return the contents at an address that is served. Raises `SkillwireError`."""

    @abstractmethod
    def updated_uris(self, change: Change) -> Collection[str]:
        """Return the addresses at which something else can be read now."""


class ExtraResources(ABC):
    """Further addresses that are in the list of resources, behind the skills."""

    scheme: str
    """What all of them begin with."""

    @abstractmethod
    def resources(self, catalog: Catalog) -> Mapping[str, dict[str, Json]]:
        """Return what the list says of each address, by the address, in their order."""

    @abstractmethod
    def templates(self) -> list[Json]:
        """Return the templates of these addresses."""

    @abstractmethod
    def listed_differently(self, change: Change) -> bool:
        """Whether the list says something else now."""

    @abstractmethod
    def serves(self, uri: str) -> bool:
        """Whether something can be read at `uri`, now."""

    @abstractmethod
    async def answer(self, uri: str) -> dict[str, Json]:
        """Return the result of reading an address that is served. Raises `SkillwireError`."""

    @abstractmethod
    def updated_uris(self, change: Change) -> Collection[str]:
        """Return the addresses at which something else can be read now."""


def catalog_problems(catalog: Catalog) -> tuple[Problem, ...]:
    """Return what the library found."""
    return catalog.problems


class ProblemsDocument(Document):
    """Every skill that is broken or withheld, for whoever looks: never only a line in a log."""

    uri = "skillwire://problems"
    name = "problems"
    description = (
        "Skills that cannot be served or need mending, each with its place, its fault and its remedy"
    )
    mime_type = JSON

    def __init__(self, problems: Problems = catalog_problems) -> None:
        self.problems = problems

    def listed(self, catalog: Catalog) -> bool:
        return bool(catalog.withheld or self.problems(catalog))

    def differs(self, change: Change) -> bool:
        before, after = change.before, change.after
        return before.withheld != after.withheld or self.problems(before) != self.problems(after)

    async def render(self, catalog: Catalog) -> bytes:
        problems = [problem.to_json() for problem in self.problems(catalog)]
        problems += map(catalog.withheld_report, catalog.withheld)
        return orjson.dumps({"problems": problems}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


@dataclass(frozen=True, slots=True)
class _Listing:
    keys: tuple[str, ...]
    positions: Mapping[str, int]
    further: Mapping[str, dict[str, Json]]


class ResourcesFeature(Feature):
    """For every client: skills are ordinary resources."""

    name = "resources"

    def __init__(
        self,
        library: Library,
        documents: Sequence[Document] = (),
        unlisted: Sequence[UnlistedResources] = (),
        listed: Sequence[ExtraResources] = (),
        runtime_meta: RuntimeMeta = no_meta,
    ) -> None:
        self._library = library
        self._further = listed
        self._runtime_meta = runtime_meta
        self._unlisted = unlisted
        self.documents = {document.uri: document for document in documents}
        self._listing = CatalogMemo(self._listed)

    def methods(self) -> Mapping[str, Method]:
        return {
            RESOURCES_LIST: self.list,
            RESOURCES_TEMPLATES: self.list_templates,
            RESOURCES_READ: self.read,
        }

    def lists(self) -> Collection[ListKind]:
        return (ListKind.RESOURCES,)

    def lists_changed(self, change: Change) -> Iterable[ListKind]:
        documents = self.documents.values()
        if (
            change.has_added_or_removed_skills
            or change.has_template_changes
            or change.before.nonconforming.keys() != change.after.nonconforming.keys()
            or any(map(_is_listed_differently, change.edits))
            or any(each.listed(change.before) != each.listed(change.after) for each in documents)
            or any(each.listed_differently(change) for each in self._further)
        ):
            yield ListKind.RESOURCES

    def serves(self, uri: str) -> bool:
        """Whether `uri` is that of a file, a folder, a document, or an address that nobody lists."""
        known = uri in self.documents or self._library.catalog.serves(uri)
        known = known or any(each.serves(uri) for each in self._further)
        return known or self._find_unlisted(uri) is not None

    def schemes(self) -> Collection[str]:
        known = {SCHEME, *self.documents, *(each.scheme for each in (*self._further, *self._unlisted))}
        return {uri.partition("://")[0] for uri in known}

    def claims(self, method: str, call: Call) -> bool:
        """Whether something is read that is surely ours. (A pattern may fit what is somebody else's.)"""
        uri = call.params.get("uri")
        if method != RESOURCES_READ or not isinstance(uri, str):
            return False
        known = uri in self.documents or uri in self._library.catalog.files
        return known or any(each.serves(uri) for each in (*self._further, *self._unlisted))

    def validator(self, method: str, call: Call) -> Validator | None:
        """Seal what is read of a skill's own files. (Other things change for reasons of their own.)"""
        uri = call.params.get("uri")
        if method != RESOURCES_READ or not isinstance(uri, str) or uri in self.documents:
            return None
        return None if any(each.serves(uri) for each in self._further) else self._library.validator_of(uri)

    def updated_uris(self, change: Change) -> Collection[str]:
        documents = {document.uri for document in self.documents.values() if document.differs(change)}
        others = (*self._unlisted, *self._further)
        return change.uris.union(documents, *(each.updated_uris(change) for each in others))

    async def list(self, call: Call) -> Answer:
        """List each `SKILL.md`, further addresses, then the documents. Files are reached from their skill."""
        catalog = self._library.loaded if self._library.frozen else self._library.catalog
        listing = self._listing.of(catalog)
        shown = page(listing.keys, listing.positions.get, of=RESOURCES_LIST, cursor=call.cursor())
        return Answer(
            shown.result("resources", [self._resource(catalog, listing, uri) for uri in shown.keys])
        )

    async def list_templates(self, call: Call) -> Answer:
        call.reject_cursor()
        every_file: Json = {
            "uriTemplate": FILE_TEMPLATE,
            "name": "skill-file",
            "description": "A file of a skill: the path of the skill, then the path of the file in it",
        }
        patterns = map(template_resource, self._library.catalog.templates)
        further = (each for more in self._further for each in more.templates())
        return Answer({"resourceTemplates": [*patterns, every_file, *further]})

    async def read(self, call: Call) -> Answer:
        uri = call.text("uri")
        if (document := self.documents.get(uri)) is not None:
            rendered = await document.render(self._library.catalog)
            return Answer({"contents": [contents(uri, document.mime_type, rendered)]})
        if (further := next((each for each in self._further if each.serves(uri)), None)) is not None:
            return Answer(await further.answer(uri))
        if (unlisted := self._find_unlisted(uri)) is not None:
            return Answer({"contents": await unlisted.read(uri)})
        reading = await self._library.read(uri)
        file = reading.served.file
        # What is added here is about the answer. The resource itself carries no bare key (S6).
        more = self._runtime_meta(reading.served.entry)
        block = with_meta(contents(uri, file.mime_type, reading.content), reading.served.entry)
        result: dict[str, Json] = {"contents": [block], **({"_meta": dict(more)} if more else {})}
        return Answer(result, live=isinstance(file, LiveFile))

    def documents_changed(self) -> None:
        """Note that a document has something else to show, or nothing any more, in the same catalogue."""
        self._listing = CatalogMemo(self._listed)

    def find_owner(self, uri: str) -> SkillRecord | None:
        """Return the skill that something is of: a file, or an address that nobody lists."""
        if (served := self._library.catalog.files.get(uri)) is not None:
            return served.entry
        unlisted = self._find_unlisted(uri)
        return None if unlisted is None else unlisted.find_owner(uri)

    def listed_documents(self) -> "list[Json]":
        """Return the documents that there is something in, as the list shows them."""
        catalog = self._library.catalog
        shown = (document for document in self.documents.values() if document.listed(catalog))
        return [_document_resource(document) for document in shown]

    def _find_unlisted(self, uri: str) -> UnlistedResources | None:
        """Return who else answers at `uri`. A file that is really there comes first."""
        if uri in self._library.catalog.files:
            return None
        return next((each for each in self._unlisted if each.serves(uri)), None)

    def _listed(self, catalog: Catalog) -> "_Listing":
        documents = [uri for uri, document in self.documents.items() if document.listed(catalog)]
        further = {uri: told for each in self._further for uri, told in each.resources(catalog).items()}
        keys = (*catalog.entries, *further, *documents)
        return _Listing(keys, {uri: position for position, uri in enumerate(keys)}, further)

    def _resource(self, catalog: Catalog, listing: "_Listing", uri: str) -> dict[str, Json]:
        if (further := listing.further.get(uri)) is not None:
            return further
        if (document := self.documents.get(uri)) is not None:
            return _document_resource(document)
        entry = catalog.entries[uri]
        return file_resource(uri, entry, entry.files[0])


def _document_resource(document: Document) -> dict[str, Json]:
    """Return what the list says of a document."""
    return {
        "uri": document.uri,
        "name": document.name,
        "description": document.description,
        "mimeType": document.mime_type,
    }


def _is_listed_differently(edit: Edit) -> bool:
    """Whether the list says something else of a skill. The size of its `SKILL.md` alone is no news."""
    before, after = ((entry.description, skill_meta(entry)) for entry in edit.entries)
    return before != after
