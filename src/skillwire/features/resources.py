"""Skills as MCP resources, and the interfaces for further documents, listed resources and unlisted URIs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import orjson

from skillwire.core.mime import JSON
from skillwire.core.names import SCHEME
from skillwire.core.problem import Problem
from skillwire.core.record import Json, LiveFile, SkillRecord, Trust
from skillwire.features.base import Answer, Call, Feature, ListKind, Method, page_from
from skillwire.features.content import RuntimeMeta, no_meta, with_meta
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change, Edit
from skillwire.library.library import Library, Reading
from skillwire.library.memo import CatalogMemo
from skillwire.protocol.messages import FILE_TEMPLATE, RESOURCES_LIST, RESOURCES_READ, RESOURCES_TEMPLATES
from skillwire.protocol.translate import contents, file_resource, skill_meta, template_resource
from skillwire.sources.base import Validator

Problems: TypeAlias = Callable[[Catalog], tuple[Problem, ...]]
"""A function that returns the problems of a catalog."""


class Document(ABC):
    """A resource generated from the catalog. Listed after the skills."""

    uri: str
    name: str
    description: str
    mime_type: str

    @abstractmethod
    def listed(self, catalog: Catalog) -> bool:
        """Return whether the document is listed for this catalog. It can always be read."""

    @abstractmethod
    def differs(self, change: Change) -> bool:
        """Return whether a change affects the document."""

    @abstractmethod
    async def render(self, catalog: Catalog) -> bytes:
        """Return the document for this catalog."""


class UnlistedResources(ABC):
    """Further URIs that can be read but are not listed, such as the URIs of a skill's archives."""

    scheme: str = SCHEME
    """The scheme of all these URIs."""

    @abstractmethod
    def serves(self, uri: str) -> bool:
        """Return whether something can be read at `uri` now."""

    @abstractmethod
    def find_owner(self, uri: str) -> SkillRecord | None:
        """Return the skill to which the content at `uri` belongs, if there is one now."""

    @abstractmethod
    async def read(self, uri: str) -> list[Json]:
        """Return the contents at a URI for which `serves` is true. Raises `SkillwireError`."""

    @abstractmethod
    def updated_uris(self, change: Change) -> Collection[str]:
        """Return the URIs whose content a change affects."""


class ExtraResources(ABC):
    """Further resources, listed after the skills."""

    scheme: str
    """The scheme of all their URIs."""

    @abstractmethod
    def resources(self, catalog: Catalog) -> Mapping[str, dict[str, Json]]:
        """Return the entry of each resource in `resources/list`, by URI, in listing order."""

    @abstractmethod
    def templates(self) -> list[Json]:
        """Return the URI templates of these resources."""

    @abstractmethod
    def listed_differently(self, change: Change) -> bool:
        """Return whether a change affects the entries in the list."""

    @abstractmethod
    def serves(self, uri: str) -> bool:
        """Return whether something can be read at `uri` now."""

    @abstractmethod
    async def answer(self, uri: str) -> dict[str, Json]:
        """Return the result of reading a URI for which `serves` is true. Raises `SkillwireError`."""

    @abstractmethod
    def updated_uris(self, change: Change) -> Collection[str]:
        """Return the URIs whose content a change affects."""


def catalog_problems(catalog: Catalog) -> tuple[Problem, ...]:
    """Return the problems in a catalog."""
    return catalog.problems


class ProblemsDocument(Document):
    """The document with the problems of all skills, including skills that are withheld."""

    uri = "skillwire://problems"
    name = "problems"
    description = "Skills that cannot be served or have problems: where, what is wrong and how to fix it"
    mime_type = JSON

    def __init__(self, problems: Problems = catalog_problems) -> None:
        self.problems = problems

    def listed(self, catalog: Catalog) -> bool:
        has_problems = catalog.has_problems if self.problems is catalog_problems else self.problems(catalog)
        return bool(catalog.entries.withheld_count or has_problems)

    def differs(self, change: Change) -> bool:
        withheld = (entry for edit in change.edits for entry in edit.entries if entry.trust is Trust.WITHHELD)
        if self.problems is catalog_problems:
            return change.has_problem_changes or any(withheld)
        return any(withheld) or self.problems(change.before) != self.problems(change.after)

    async def render(self, catalog: Catalog) -> bytes:
        problems = [problem.to_json() for problem in self.problems(catalog)]
        problems += map(catalog.withheld_report, catalog.withheld)
        return orjson.dumps({"problems": problems}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


@dataclass(frozen=True, slots=True)
class _Others:
    """What is listed after the skills: extra resources, then documents."""

    further: Mapping[str, dict[str, Json]]
    keys: tuple[str, ...]
    positions: Mapping[str, int]


class ResourcesFeature(Feature):
    """Serves skills to every client, as ordinary resources."""

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
        self._others = CatalogMemo(self._list_others)

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
            or any(map(_is_refused_differently, change.edits))
            or any(map(_is_listed_differently, change.edits))
            or any(each.listed(change.before) != each.listed(change.after) for each in documents)
            or any(each.listed_differently(change) for each in self._further)
        ):
            yield ListKind.RESOURCES

    def serves(self, uri: str) -> bool:
        """Return whether `uri` is a URI of a file, folder, document, extra resource or unlisted resource."""
        known = uri in self.documents or self._library.catalog.serves(uri)
        known = known or any(each.serves(uri) for each in self._further)
        return known or self._find_unlisted(uri) is not None

    def schemes(self) -> Collection[str]:
        known = {SCHEME, *self.documents, *(each.scheme for each in (*self._further, *self._unlisted))}
        return {uri.partition("://")[0] for uri in known}

    def claims(self, method: str, call: Call) -> bool:
        """Return whether a read is certainly for this feature.

        A URI that only matches a template may belong to the server to which the skills are attached.
        """
        uri = call.params.get("uri")
        if method != RESOURCES_READ or not isinstance(uri, str):
            return False
        known = uri in self.documents or uri in self._library.catalog.files
        return known or any(each.serves(uri) for each in (*self._further, *self._unlisted))

    def validator(self, method: str, call: Call) -> Validator | None:
        """Return a validator for a file of a skill, or None if there is none.

        There is none for other contents, because they can change although the library does not change.
        """
        uri = call.params.get("uri")
        if method != RESOURCES_READ or not isinstance(uri, str) or uri in self.documents:
            return None
        if any(each.serves(uri) for each in self._further):
            return None
        # Additional metadata may depend on all skills.
        return self._library.validator_of(uri, of_catalog=self._runtime_meta is not no_meta)

    def updated_uris(self, change: Change) -> Collection[str]:
        documents = {document.uri for document in self.documents.values() if document.differs(change)}
        others = (*self._unlisted, *self._further)
        return change.uris.union(documents, *(each.updated_uris(change) for each in others))

    async def list(self, call: Call) -> Answer:
        """List each `SKILL.md`, further resources, then the documents.

        Other files of skills are not listed.
        """
        catalog = self._library.loaded if self._library.frozen else self._library.catalog
        entries, others = catalog.entries, self._others.of(catalog)

        def keys_from(start: int) -> Iterator[str]:
            skills = (entry.uri for entry in entries.records_from(start))
            return chain(skills, others.keys[max(0, start - len(entries)) :])

        def position(uri: str) -> int | None:
            other = others.positions.get(uri)
            return entries.position(uri) if other is None else len(entries) + other

        shown = page_from(keys_from, position, of=RESOURCES_LIST, cursor=call.cursor())
        return Answer(shown.result("resources", [self._resource(catalog, others, uri) for uri in shown.keys]))

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
        return self._file_answer(uri, await self._library.read(uri))

    def answer_now(self, method: str, call: Call) -> Answer | None:
        uri = call.params.get("uri")
        if method != RESOURCES_READ or not isinstance(uri, str) or uri in self.documents:
            return None
        if any(each.serves(uri) for each in self._further):
            return None
        reading = self._library.read_now(uri)
        return None if reading is None else self._file_answer(uri, reading)

    def _file_answer(self, uri: str, reading: Reading) -> Answer:
        file = reading.served.file
        # Metadata about the response goes into the result. The resource itself has no unprefixed key (S6).
        more = self._runtime_meta(reading.served.entry)
        block = with_meta(contents(uri, file.mime_type, reading.content), reading.served.entry)
        result: dict[str, Json] = {"contents": [block], **({"_meta": dict(more)} if more else {})}
        return Answer(result, live=isinstance(file, LiveFile))

    def documents_changed(self) -> None:
        """Refresh the listing after a document changed without a change of the catalog."""
        self._others = CatalogMemo(self._list_others)

    def find_owner(self, uri: str) -> SkillRecord | None:
        """Return the skill to which a file URI or an unlisted URI belongs, or None."""
        if (served := self._library.catalog.files.get(uri)) is not None:
            return served.entry
        unlisted = self._find_unlisted(uri)
        return None if unlisted is None else unlisted.find_owner(uri)

    def listed_documents(self) -> "list[Json]":
        """Return the list entries of the documents that are listed now."""
        catalog = self._library.catalog
        shown = (document for document in self.documents.values() if document.listed(catalog))
        return [_document_resource(document) for document in shown]

    def _find_unlisted(self, uri: str) -> UnlistedResources | None:
        """Return the `UnlistedResources` that serve `uri`. Return None if none do, or for a skill's file."""
        if uri in self._library.catalog.files:
            return None
        return next((each for each in self._unlisted if each.serves(uri)), None)

    def _list_others(self, catalog: Catalog) -> "_Others":
        documents = [uri for uri, document in self.documents.items() if document.listed(catalog)]
        further = {uri: entry for each in self._further for uri, entry in each.resources(catalog).items()}
        keys = (*further, *documents)
        return _Others(further, keys, {uri: position for position, uri in enumerate(keys)})

    def _resource(self, catalog: Catalog, others: "_Others", uri: str) -> dict[str, Json]:
        if (further := others.further.get(uri)) is not None:
            return further
        if (document := self.documents.get(uri)) is not None:
            return _document_resource(document)
        entry = catalog.entries[uri]
        return file_resource(uri, entry, entry.files[0])


def _document_resource(document: Document) -> dict[str, Json]:
    """Return the list entry of a document."""
    return {
        "uri": document.uri,
        "name": document.name,
        "description": document.description,
        "mimeType": document.mime_type,
    }


def _is_refused_differently(edit: Edit) -> bool:
    """Return whether an edit changes that strict clients refuse the skill."""
    before, after = (bool(entry.nonconformities) for entry in edit.entries)
    return before != after


def _is_listed_differently(edit: Edit) -> bool:
    """Return whether an edit changes the list entry of a skill.

    A new size of `SKILL.md` alone does not count.
    """
    before, after = ((entry.description, skill_meta(entry)) for entry in edit.entries)
    return before != after
