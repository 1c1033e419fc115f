"""Validate frontmatter against the contract, and return it as typed values."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from skillwire.contract.rules.check import check_skill
from skillwire.contract.rules.references import MIME_TYPE
from skillwire.contract.rules.skill import (
    ContractSkill,
    SkillFacts,
    key_of,
    stripped,
    stripped_keys,
    text_or_none,
    texts,
)
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Json
from skillwire.errors import ContractError
from skillwire.frontmatter.positions import FieldPath, format_field_path
from skillwire.frontmatter.rules import check_fields, parse_tools
from skillwire.frontmatter.values import Fields
from skillwire.safe_text import quoted


def key_problems(raw: Mapping[Any, Any], path: str) -> Iterator[Problem]:
    """Yield a problem for each key that is not a string, at any depth."""
    for field_path, key in _wrong_keys(raw, ()):
        message = f"{quoted(str(key))} is used as a key, but is not text"
        hint = f"write it as text: {quoted(repr(str(key)))}"
        yield Problem(
            path,
            Rule.YAML_KEY,
            Severity.ERROR,
            message,
            hint=hint,
            field=format_field_path((*field_path, str(key))),
        )


def with_text_keys(raw: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a copy in which every key is a string, so that the other rules can run."""
    return {str(key): _with_text_keys(value) for key, value in raw.items()}


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return with_text_keys(cast("dict[Any, Any]", value))
    return list(map(_with_text_keys, cast("list[Any]", value))) if isinstance(value, list) else value


def _wrong_keys(value: Any, field_path: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[Any, Any]", value).items():
            if not isinstance(key, str):
                yield field_path, key
            yield from _wrong_keys(item, (*field_path, str(key)))
    elif isinstance(value, list):
        for at, item in enumerate(cast("list[Any]", value)):
            yield from _wrong_keys(item, (*field_path, at))


@dataclass(frozen=True, slots=True)
class Reference:
    """A document of a skill that the contract publishes at a URI of its own."""

    id: str
    path: str
    mime_type: str = MIME_TYPE
    title: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillFrontmatter:
    """Valid frontmatter as typed values, without whitespace around strings."""

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
    """Every field as it was written, including unknown ones."""
    warnings: tuple[Problem, ...] = ()


def validate_skill_frontmatter(
    raw: Mapping[str, Any], dir_name: str, *, key: str | None = None
) -> SkillFrontmatter:
    """Validate frontmatter and return it as a typed value.

    Raises `ContractError` with every error found. Warnings are in `SkillFrontmatter.warnings`.

    The metadata block is under `key`, by default `x-skillwire` or `x-personal-mcp`. `dir_name` is the name of
    the skill's folder. Files and other skills are not checked.
    """
    path, key = f"{dir_name}/SKILL.md", key_of(raw, key)
    unreadable = tuple(key_problems(raw, path))
    fields = with_text_keys(raw) if unreadable else raw
    # The contract ignores whitespace around strings, so strip the name before the standard rules check it.
    tidy = {**fields, "name": stripped(fields["name"])} if "name" in fields else dict(fields)
    problems = (*unreadable, *check_fields(Fields(tidy, {}), path, dir_name))
    found = tuple(check_skill(SkillFacts(path, dir_name, fields, problems=problems), key))
    if errors := [problem for problem in found if problem.severity is Severity.ERROR]:
        raise ContractError(errors)
    return build_frontmatter(raw, key, found)


def build_frontmatter(
    raw: Mapping[str, Json], key: str, warnings: tuple[Problem, ...] = ()
) -> SkillFrontmatter:
    """Convert frontmatter without errors to typed values. Whitespace around strings is stripped."""
    subject = ContractSkill.of(SkillFacts("", None, raw), key)
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
    """Return the tools in the field `allowed-tools`, which may be text or a list."""
    value = raw.get("allowed-tools")
    return parse_tools(value) if isinstance(value, str) else texts(value)


def metadata_of(raw: Mapping[str, Json]) -> dict[str, str]:
    """Return `metadata` with its values converted to text. Empty if `metadata` is not a mapping."""
    metadata = raw.get("metadata")
    return {name: _as_text(value) for name, value in metadata.items()} if isinstance(metadata, dict) else {}


def _as_text(value: Json) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _once(items: Iterable[str]) -> tuple[str, ...]:
    """Return the items without repetitions."""
    return tuple(dict.fromkeys(items))


def _reference(ref_id: str, value: Mapping[str, Json]) -> Reference:
    return Reference(
        ref_id,
        str(value["path"]),
        text_or_none(value.get("mime_type")) or MIME_TYPE,
        text_or_none(value.get("title")),
        tuple(texts(value.get("aliases"))),
    )
