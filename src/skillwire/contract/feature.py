"""The addresses of the repository contract: a catalogue, and skills with versions, tags and references."""

from collections.abc import Collection, Mapping

from skillwire.contract.options import ContractOptions
from skillwire.contract.publishing import ContractResource, Register, Registry
from skillwire.contract.rules.skill import (
    CARD_TEMPLATE,
    DOCUMENT_TEMPLATE,
    INDEX,
    REFERENCE_TEMPLATE,
    SKILLS,
    card_uri,
)
from skillwire.core.mime import JSON
from skillwire.core.names import SKILL_FILE, file_uri
from skillwire.core.problem import Problem
from skillwire.core.record import Json, SkillRecord
from skillwire.errors import NotServedError
from skillwire.features.content import with_meta
from skillwire.features.resources import Listed, ProblemsDocument
from skillwire.library.catalog import Catalog, CatalogMemo
from skillwire.library.change import Change
from skillwire.library.library import Library
from skillwire.protocol.translate import contents

_TEMPLATES = {
    "skill-catalog": (CARD_TEMPLATE, "What the catalogue knows of a skill: addresses, version, dependencies"),
    "skill-document": (DOCUMENT_TEMPLATE, "The document of a skill"),
    "skill-reference": (REFERENCE_TEMPLATE, "A reference of a skill, by its id"),
}


class ContractFeature:
    """All that the contract adds to what a library offers."""

    def __init__(self, library: Library, terms: ContractOptions) -> None:
        self._library = library
        self._register = register = Register(terms)
        self.problems = ContractProblems(register)
        self.addresses = ContractResources(library, register)

    def runtime_meta(self, entry: SkillRecord) -> dict[str, Json]:
        """Return what a read or a tool result for a skill carries."""
        return self._register.runtime_meta(entry, self._library.catalog)


class ContractResources(Listed):
    """Everything that the register publishes, listed; files have the bytes of their `skill://` resources."""

    scheme = SKILLS

    def __init__(self, library: Library, register: Register) -> None:
        self._library = library
        self._register = register
        self._readable = CatalogMemo(self._of)

    def resources(self, catalog: Catalog) -> Mapping[str, dict[str, Json]]:
        return {uri: as_resource(each) for uri, each in self._readable.of(catalog).items()}

    def templates(self) -> list[Json]:
        return [
            {"uriTemplate": template, "name": name, "description": told}
            for name, (template, told) in _TEMPLATES.items()
        ]

    def listed_differently(self, change: Change) -> bool:
        before, after = (self._of(catalog) for catalog in (change.before, change.after))
        return list(before.items()) != list(after.items())

    def serves(self, uri: str) -> bool:
        return uri in self._readable.of(self._library.catalog)

    async def answer(self, uri: str) -> dict[str, Json]:
        catalog = self._library.catalog
        registry = self._registry(catalog)
        if (resource := self._readable.of(catalog).get(uri)) is None:
            raise NotServedError(uri)
        if resource.skill_id is None:
            return {"contents": [contents(uri, JSON, registry.rendered(resource))]}
        meta = registry.skills[resource.skill_id].runtime_meta
        if resource.path is None:
            block = contents(uri, JSON, registry.rendered(resource))
        else:
            reading = await self._library.read(_file(registry, resource))
            block = with_meta(
                contents(uri, resource.mime_type, reading.content), reading.served.entry, resource.meta
            )
        return {"contents": [{**block, "_meta": {**meta, **_meta(block)}}], "_meta": meta}

    def updated(self, change: Change) -> Collection[str]:
        before, after = (self._registry(catalog) for catalog in (change.before, change.after))
        files = {
            uri
            for registry in (before, after)
            for uri, each in registry.resources.items()
            if each.path is not None and _file(registry, each) in change.uris
        }
        if before.skills == after.skills:
            return files
        return files | {INDEX} | {card_uri(each) for each in (*before.skills, *after.skills)}

    def _registry(self, catalog: Catalog) -> Registry:
        return self._register.of(catalog).registry

    def _of(self, catalog: Catalog) -> dict[str, ContractResource]:
        """Return what can be read now. A registry that is kept may name a file that is gone."""
        registry = self._registry(catalog)
        return {
            uri: each
            for uri, each in registry.resources.items()
            if each.path is None or _file(registry, each) in catalog.files
        }


class ContractProblems(ProblemsDocument):
    """Everything that is wrong, as grave as the contract takes it."""

    def __init__(self, register: Register) -> None:
        self._register = register

    def problems(self, catalog: Catalog) -> tuple[Problem, ...]:
        return self._register.of(catalog).contracted.problems


def as_resource(resource: ContractResource) -> dict[str, Json]:
    """Return a resource as `resources/list` tells it."""
    told: dict[str, Json] = {
        "uri": resource.uri,
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
        "mimeType": resource.mime_type,
        "annotations": dict(resource.annotations),
        "_meta": dict(resource.meta),
    }
    return {**told, "icons": [dict(icon) for icon in resource.icons]} if resource.icons else told


def _file(registry: Registry, resource: ContractResource) -> str:
    """Return the URI of the file whose bytes a resource has."""
    assert resource.skill_id is not None, "only the index belongs to no skill"
    entry_uri = registry.skills[resource.skill_id].uri
    return file_uri(entry_uri.removesuffix(f"/{SKILL_FILE}"), str(resource.path))


def _meta(block: dict[str, Json]) -> dict[str, Json]:
    meta = block.get("_meta")
    return meta if isinstance(meta, dict) else {}
