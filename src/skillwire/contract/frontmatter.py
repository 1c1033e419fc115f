"""A frontmatter that keeps the contract, with types that cannot be wrong inside."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, cast

from skillwire.contract.keys import key_problems, with_text_keys
from skillwire.contract.references import MIME_TYPE
from skillwire.contract.rules import check_skill
from skillwire.contract.subject import SkillFacts, Subject, stripped, stripped_keys, text_or_none, texts
from skillwire.contract.terms import BLOCK_KEY
from skillwire.model.entry import Json
from skillwire.model.errors import SkillwireError
from skillwire.model.problem import Problem, Severity
from skillwire.skillmd.fields import Fields
from skillwire.skillmd.rules import check_fields, tools_in


@dataclass(frozen=True, slots=True)
class Reference:
    """A file of the skill that has an address of its own."""

    id: str
    path: str
    mime_type: str = MIME_TYPE
    title: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillFrontmatter:
    """A frontmatter under the contract. `raw` is what is published; the other fields are typed."""

    name: str
    description: str
    id: str
    version: str
    capabilities: tuple[str, ...]
    tags: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    references: Mapping[str, Reference] = field(default_factory=dict[str, Reference])
    icons: tuple[Mapping[str, Json], ...] = ()
    license: str | None = None
    compatibility: str | None = None
    allowed_tools: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    raw: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Every field as its author wrote it, also those that nobody here knows."""
    warnings: tuple[Problem, ...] = ()


class FieldError(SkillwireError, ValueError):
    """One field that breaks the contract."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.field, self.rule = problem.field, problem.rule
        super().__init__(f"{problem.field}: {problem.message}; {problem.hint}")


class ContractError(ExceptionGroup[FieldError], SkillwireError):
    """A group with one error for each way in which a frontmatter breaks the contract."""

    def __new__(cls, problems: Iterable[Problem]) -> Self:
        errors = [FieldError(problem) for problem in problems]
        return super().__new__(cls, "the frontmatter breaks the contract", errors)

    def __init__(self, problems: Iterable[Problem]) -> None:
        """`problems` are errors, at least one."""

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(error.problem for error in cast("Sequence[FieldError]", self.exceptions))

    def derive(self, excs: Sequence[FieldError], /) -> "ContractError":  # pyright: ignore[reportIncompatibleMethodOverride]
        return ContractError([error.problem for error in excs])


def validate_skill_frontmatter(
    raw: Mapping[str, Any], dir_name: str, *, key: str = BLOCK_KEY
) -> SkillFrontmatter:
    """Return `raw` as a typed value. Raises `ContractError`, which names every wrong field.

    `dir_name` is the folder that the skill lives in. Files and other skills are not looked at.
    """
    path = f"{dir_name}/SKILL.md"
    unreadable = tuple(key_problems(raw, path))
    fields = with_text_keys(raw) if unreadable else raw
    # White space around a name is no part of it, as with every other text.
    tidy = {**fields, "name": stripped(fields["name"])} if "name" in fields else dict(fields)
    problems = (*unreadable, *check_fields(Fields(tidy, {}), path, dir_name))
    found = tuple(check_skill(SkillFacts(path, dir_name, fields, problems=problems), key))
    if errors := [problem for problem in found if problem.severity is Severity.ERROR]:
        raise ContractError(errors)
    return typed(raw, key, found)


def typed(raw: Mapping[str, Json], key: str, warnings: tuple[Problem, ...] = ()) -> SkillFrontmatter:
    """Return a frontmatter in which no rule found an error. White space around texts is no part of them."""
    subject = Subject.of(SkillFacts("", None, raw), key)
    block, fields = subject.block, cast("dict[str, Json]", stripped(dict(raw)))
    return SkillFrontmatter(
        name=str(fields["name"]),
        description=str(fields["description"]),
        id=str(block["id"]),
        version=str(block["version"]),
        capabilities=_once(texts(block["capabilities"])),
        tags=_once(filter(None, texts(block.get("tags")))),
        depends_on=_once(texts(block.get("depends_on"))),
        references={ref_id: _reference(ref_id, value) for ref_id, value in subject.references()},
        icons=tuple(cast("list[dict[str, Json]]", block.get("icons") or ())),
        license=text_or_none(fields.get("license")),
        compatibility=text_or_none(fields.get("compatibility")),
        allowed_tools=tuple(allowed_tools(fields)),
        metadata=cast("dict[str, str]", stripped_keys(metadata_of(fields))),
        raw=raw,
        warnings=warnings,
    )


def allowed_tools(raw: Mapping[str, Json]) -> list[str]:
    """Return the tools that a frontmatter names, as text or as a list."""
    value = raw.get("allowed-tools")
    return tools_in(value) if isinstance(value, str) else texts(value)


def metadata_of(raw: Mapping[str, Json]) -> dict[str, str]:
    """Return the metadata with its scalars as text."""
    metadata = raw.get("metadata")
    return {name: _as_text(value) for name, value in metadata.items()} if isinstance(metadata, dict) else {}


def _as_text(value: Json) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _once(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _reference(ref_id: str, value: Mapping[str, Json]) -> Reference:
    return Reference(
        ref_id,
        str(value["path"]),
        text_or_none(value.get("mime_type")) or MIME_TYPE,
        text_or_none(value.get("title")),
        tuple(texts(value.get("aliases"))),
    )
