"""The skills that a server publishes under the contract, and their resources.

The resources are the index of all skills, a card with details of each skill, and the skills' documents and
references. The index and the cards are generated JSON. The other resources are files.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from skillwire.contract.frontmatter import Reference, SkillFrontmatter
from skillwire.contract.graph import Graph
from skillwire.contract.repository import CheckedCatalog, CheckedSkill, check_catalog
from skillwire.contract.rules.references import MIME_TYPE
from skillwire.contract.rules.skill import INDEX, card_uri, document_uri, reference_uri
from skillwire.core.mime import JSON
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Json, SkillRecord
from skillwire.library.catalog import Catalog

MARKS: Mapping[str, Json] = {"readOnlyHint": True, "idempotentHint": True}
"""Hints in the `_meta` of a resource: a read has no side effects.

No version of MCP defines them in the `annotations` of a resource, only in those of a tool. The SDK drops
annotations that the protocol version does not define.
"""


@dataclass(frozen=True, slots=True)
class ContractResource:
    """A resource that the contract publishes, with the metadata that a server lists."""

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    version: str | None = None
    tags: tuple[str, ...] = ()
    meta: Mapping[str, Json] = field(default_factory=dict[str, Json])
    icons: tuple[Mapping[str, Json], ...] = ()
    skill_id: str | None = None
    """The id of the skill, or None for the index."""
    path: str | None = None
    """The path of the file in the skill's folder, or None for the index and cards, which are generated."""


@dataclass(frozen=True, slots=True)
class PublishedSkill:
    """A published skill: its valid frontmatter, and its URI."""

    frontmatter: SkillFrontmatter
    uri: str
    """URI of its `SKILL.md`."""

    @property
    def runtime_meta(self) -> dict[str, Json]:
        """The `_meta` that every result of a read or tool call for this skill contains."""
        each = self.frontmatter
        return {"skill_id": each.id, "version": each.version, "tags": list(each.tags)}


@dataclass(frozen=True)
class PublishedSkills:
    """All published skills and their resources, in an order that is always the same for the same skills."""

    skills: Mapping[str, PublishedSkill]
    """Skills by id, sorted."""

    @classmethod
    def of(cls, valid: Iterable[tuple[CheckedSkill, SkillFrontmatter]]) -> "PublishedSkills":
        """Return these skills, which have no errors, as published skills."""
        found = {each.id: PublishedSkill(each, skill.facts.uri) for skill, each in valid}
        return cls(dict(sorted(found.items())))

    @cached_property
    def graph(self) -> Graph:
        return Graph.of({each: skill.frontmatter.depends_on for each, skill in self.skills.items()})

    @cached_property
    def resources(self) -> Mapping[str, ContractResource]:
        """Every resource by URI: the index, all cards, then each skill's files."""
        resources = [_INDEX, *map(_card, self.skills.values())]
        for skill in self.skills.values():
            resources.extend(_files(skill.frontmatter))
        return {resource.uri: resource for resource in resources}

    @cached_property
    def by_uri(self) -> Mapping[str, PublishedSkill]:
        """The skills by the URI of their `SKILL.md`."""
        return {skill.uri: skill for skill in self.skills.values()}

    def rendered(self, resource: ContractResource) -> bytes:
        """Return the JSON of the index or of a skill's card."""
        if resource.skill_id is None:
            skills: Json = [_summary(skill.frontmatter) for skill in self.skills.values()]
            return _json({"skills": skills})
        return _json(self._card(self.skills[resource.skill_id].frontmatter))

    def _card(self, skill: SkillFrontmatter) -> dict[str, Json]:
        closure = self.graph.closure(skill.id)
        return {
            **_summary(skill),
            "dependents": list(self.graph.dependents[skill.id]),
            "closure": list(closure),
            "topological_order": [*closure, skill.id],
        }


_INDEX = ContractResource(
    INDEX,
    "skills_index",
    "Skills",
    "All skills: versions, tags and addresses",
    JSON,
    meta=MARKS,
)


def _card(skill: PublishedSkill) -> ContractResource:
    each = skill.frontmatter
    return ContractResource(
        card_uri(each.id),
        f"{each.id}-catalog",
        f"{_title(each)}: catalog entry",
        f"What the catalog knows of the skill {each.id}: addresses, version, dependencies",
        JSON,
        each.version,
        each.tags,
        meta={**skill.runtime_meta, **MARKS},
        skill_id=each.id,
    )


def _files(skill: SkillFrontmatter) -> Iterator[ContractResource]:
    yield ContractResource(
        document_uri(skill.id),
        skill.name,
        _title(skill),
        skill.description,
        MIME_TYPE,
        skill.version,
        skill.tags,
        meta=_meta(skill, SKILL_FILE),
        icons=skill.icons,
        skill_id=skill.id,
        path=SKILL_FILE,
    )
    for reference in skill.references.values():
        for ref_id in (reference.id, *reference.aliases):
            yield _reference(skill, reference, ref_id)


def _reference(skill: SkillFrontmatter, reference: Reference, ref_id: str) -> ContractResource:
    title = reference.title or reference.id.replace("-", " ").capitalize()
    old: dict[str, Json] = {} if ref_id == reference.id else {"deprecated": True, "alias_of": reference.id}
    return ContractResource(
        reference_uri(skill.id, ref_id),
        f"{skill.name}-{ref_id}",
        title,
        f"{title}: a reference of the skill {skill.id}",
        reference.mime_type,
        skill.version,
        skill.tags,
        meta={**_meta(skill, reference.path), "ref_id": ref_id, **old},
        skill_id=skill.id,
        path=reference.path,
    )


def _meta(skill: SkillFrontmatter, path: str) -> dict[str, Json]:
    known: dict[str, Json] = {"skill_id": skill.id, "path": path}
    return {**known, "version": skill.version, "tags": list(skill.tags), **MARKS}


def _summary(skill: SkillFrontmatter) -> dict[str, Json]:
    """Return the fields of a skill that are both in the index and in its card."""
    return {
        "id": skill.id,
        "description": skill.description,
        "version": skill.version,
        "tags": list(skill.tags),
        "document": document_uri(skill.id),
        "references": list(skill.references),
        "capabilities": list(skill.capabilities),
        "depends_on": list(skill.depends_on),
    }


def _title(skill: SkillFrontmatter) -> str:
    return skill.name.replace("-", " ").capitalize()


def _json(value: dict[str, Json]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


@dataclass(frozen=True, slots=True)
class Publication:
    """The result of checking one catalog, and the skills published for it."""

    checked: CheckedCatalog
    published: PublishedSkills


@dataclass(slots=True)
class ContractPublisher:
    """Decides which skills are published for each successive catalog of a library.

    If `tolerant` is False, and a catalog has errors, the skills published before stay as they were, except
    removed skills. If `tolerant` is True, valid skills are published, and the last valid version of a broken
    skill stays until the skill is removed.
    """

    key: str | None = None
    """Frontmatter key of the metadata block. None means one of `BLOCK_KEYS`."""
    tolerant: bool = False
    _last: Publication | None = None
    _before: Publication | None = None

    def of(self, catalog: Catalog) -> Publication:
        """Return the publication for a catalog. The publications for the last two catalogs are cached."""
        for cached in (self._last, self._before):
            if cached is not None and cached.checked.catalog is catalog:
                return cached
        found = check_catalog(catalog, self.key, self._last and self._last.checked)
        self._before, self._last = self._last, Publication(found, self._published(found))
        return self._last

    def runtime_meta(self, entry: SkillRecord, catalog: Catalog) -> dict[str, Json]:
        """Return the `_meta` of reads and tool results for a skill.

        It is empty if the skill is not published.
        """
        skill = self.of(catalog).published.by_uri.get(entry.uri)
        return {} if skill is None else skill.runtime_meta

    def _published(self, found: CheckedCatalog) -> PublishedSkills:
        good = PublishedSkills.of(found.repository.valid)
        last: Mapping[str, PublishedSkill] = self._last.published.skills if self._last is not None else {}
        still_there = {each: skill for each, skill in last.items() if skill.uri in found.catalog.entries}
        if not self.tolerant:
            return PublishedSkills(still_there) if found.errors else good
        return PublishedSkills(dict(sorted({**_broken(found, still_there), **good.skills}.items())))


def _broken(found: CheckedCatalog, known: Mapping[str, PublishedSkill]) -> dict[str, PublishedSkill]:
    """Return the last valid version of each skill that is broken now, by id."""
    broken = {skill.facts.uri for skill in found.repository.skills if skill.frontmatter is None}
    return {each: skill for each, skill in known.items() if skill.uri in broken}
