"""The contract as an addition to a server: its options, and its resources with versions and tags."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from skillwire.contract.publishing import ContractPublisher, ContractResource, PublishedSkills
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
from skillwire.features.addition import AddedFeatures
from skillwire.features.content import with_meta
from skillwire.features.resources import ExtraResources
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change
from skillwire.library.library import Library
from skillwire.library.memo import CatalogMemo
from skillwire.protocol.translate import contents

_TEMPLATES = {
    "skill-catalog": (CARD_TEMPLATE, "What the catalog knows of a skill: addresses, version, dependencies"),
    "skill-document": (DOCUMENT_TEMPLATE, "The document of a skill"),
    "skill-reference": (REFERENCE_TEMPLATE, "A reference of a skill, by its id"),
}


@dataclass(frozen=True, slots=True)
class ContractOptions:
    """Options that add the repository contract to a server. Pass them in `ServeOptions.additions`."""

    key: str | None = None
    """Frontmatter key of the metadata block. Default: `x-skillwire` or `x-personal-mcp`."""
    tolerant: bool = False
    """Whether valid skills are published while the catalog has errors.

    If False, published skills are neither added nor updated until all errors are fixed.
    """

    def add_to(self, library: Library) -> AddedFeatures:
        """Return the resources, problems and `_meta` that the contract adds to a server for `library`."""
        publisher = ContractPublisher(self.key, self.tolerant)

        def problems(catalog: Catalog) -> tuple[Problem, ...]:
            return publisher.of(catalog).checked.problems

        def runtime_meta(entry: SkillRecord) -> dict[str, Json]:
            return publisher.runtime_meta(entry, library.catalog)

        return AddedFeatures(
            listed=[ContractResources(library, publisher)], problems=problems, runtime_meta=runtime_meta
        )


class ContractResources(ExtraResources):
    """The resources that the contract publishes. A file has the same bytes as at its `skill://` URI."""

    scheme = SKILLS

    def __init__(self, library: Library, publisher: ContractPublisher) -> None:
        self._library = library
        self._publisher = publisher
        self._readable = CatalogMemo(self._of)

    def resources(self, catalog: Catalog) -> Mapping[str, dict[str, Json]]:
        return {uri: as_resource(each) for uri, each in self._readable.of(catalog).items()}

    def templates(self) -> list[Json]:
        return [
            {"uriTemplate": template, "name": name, "description": description}
            for name, (template, description) in _TEMPLATES.items()
        ]

    def listed_differently(self, change: Change) -> bool:
        before, after = (self._of(catalog) for catalog in (change.before, change.after))
        return list(before.items()) != list(after.items())

    def serves(self, uri: str) -> bool:
        return uri in self._readable.of(self._library.catalog)

    async def answer(self, uri: str) -> dict[str, Json]:
        catalog = self._library.catalog
        published = self._published(catalog)
        if (resource := self._readable.of(catalog).get(uri)) is None:
            raise NotServedError(uri)
        if resource.skill_id is None:
            return {"contents": [contents(uri, JSON, published.rendered(resource))]}
        meta = published.skills[resource.skill_id].runtime_meta
        if resource.path is None:
            block = contents(uri, JSON, published.rendered(resource))
        else:
            reading = await self._library.read(_file(published, resource))
            block = with_meta(
                contents(uri, resource.mime_type, reading.content), reading.served.entry, resource.meta
            )
        return {"contents": [{**block, "_meta": {**meta, **_meta(block)}}], "_meta": meta}

    def updated_uris(self, change: Change) -> Collection[str]:
        before, after = (self._published(catalog) for catalog in (change.before, change.after))
        files = {
            uri
            for published in (before, after)
            for uri, each in published.resources.items()
            if each.path is not None and _file(published, each) in change.uris
        }
        if before.skills == after.skills:
            return files
        return files | {INDEX} | {card_uri(each) for each in (*before.skills, *after.skills)}

    def _published(self, catalog: Catalog) -> PublishedSkills:
        return self._publisher.of(catalog).published

    def _of(self, catalog: Catalog) -> dict[str, ContractResource]:
        """Return the resources that can be read now, by URI. Resources of removed files are left out."""
        published = self._published(catalog)
        return {
            uri: each
            for uri, each in published.resources.items()
            if each.path is None or _file(published, each) in catalog.files
        }


def as_resource(resource: ContractResource) -> dict[str, Json]:
    """Return a resource as an item of `resources/list`."""
    listed: dict[str, Json] = {
        "uri": resource.uri,
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
        "mimeType": resource.mime_type,
        "_meta": dict(resource.meta),
    }
    return {**listed, "icons": [dict(icon) for icon in resource.icons]} if resource.icons else listed


def _file(published: PublishedSkills, resource: ContractResource) -> str:
    """Return the `skill://` URI of the file that a resource returns."""
    assert resource.skill_id is not None, "only the index belongs to no skill"
    entry_uri = published.skills[resource.skill_id].uri
    return file_uri(entry_uri.removesuffix(f"/{SKILL_FILE}"), str(resource.path))


def _meta(block: dict[str, Json]) -> dict[str, Json]:
    meta = block.get("_meta")
    return meta if isinstance(meta, dict) else {}
