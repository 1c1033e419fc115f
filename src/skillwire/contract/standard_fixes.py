"""Fixes for the fields of the Agent Skills standard, and for values that YAML parsers read differently."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from skillwire.contract.editing import Edit, EditableFrontmatter, replace_value
from skillwire.contract.rules.skill import ContractSkill
from skillwire.core.names import is_skill_name
from skillwire.core.problem import Rule
from skillwire.core.record import Json
from skillwire.frontmatter.positions import FieldPath, NodeStyle
from skillwire.frontmatter.rules import parse_tools
from skillwire.frontmatter.split import OPENING
from skillwire.frontmatter.values import may_be_ambiguous
from skillwire.frontmatter.writer import format_scalar

_SEPARATORS = re.compile(r"[\s_]+")
_BLOCK_LIST_FIELD = re.compile(r"allowed-tools[ \t]*:")
_BOOLEANS = {"true": True, "false": False}


def right_name(name: str | None, folder: str | None, skill_id: str | None) -> str | None:
    """Return the only right name of a skill, or None if there are several or none.

    The right name is the name of the folder, if it is valid. Otherwise, an invalid name is converted to lower
    case, with hyphens for spaces and underscores, if no other change is needed. If the skill has an id, the
    name must be equal to it.
    """
    if folder is not None and is_skill_name(folder):
        right = folder
    elif name is None or is_skill_name(name):
        return None
    else:
        right = _SEPARATORS.sub("-", name.strip().lower())
    return right if is_skill_name(right) and skill_id in {None, right} else None


def _name(draft: EditableFrontmatter, subject: ContractSkill, expected: dict[str, Json]) -> Iterator[Edit]:
    """Write the name of the folder, or the existing name in lower case and with hyphens."""
    value = draft.values.get("name")
    right = right_name(value if isinstance(value, str) else None, subject.facts.folder, subject.id)
    if right is None or value == right:
        return
    expected["name"] = right
    place = draft.places.get(("name",))
    if place is None:
        yield Edit(len(OPENING), len(OPENING), f"name: {format_scalar(right)}\n")
    elif place.start == place.end:
        yield Edit(place.start, place.end, f" {format_scalar(right)}")
    elif place.shape is NodeStyle.SCALAR:
        yield from replace_value(draft, ("name",), format_scalar(right))


def _tools(draft: EditableFrontmatter, _subject: ContractSkill, expected: dict[str, Json]) -> Iterator[Edit]:
    """Write the tools in one line, separated by spaces."""
    value, field_path = draft.values.get("allowed-tools"), ("allowed-tools",)
    if isinstance(value, str):
        expected["allowed-tools"] = tools = " ".join(parse_tools(value))
        yield from replace_value(draft, field_path, format_scalar(tools))
        return
    items = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
    tools = " ".join(items)
    if not items or items != value or parse_tools(tools) != items:
        return
    place, last = draft.places[field_path], draft.places[*field_path, len(items) - 1]
    start, end = place.start, place.end
    if place.shape is NodeStyle.BLOCK:
        key = _BLOCK_LIST_FIELD.match(draft.text, draft.line_start_of(place.line) + place.column)
        if key is None:
            return
        start, end = key.end(), last.end
    if "#" not in draft.text[start : draft.line_end(last.end)]:
        expected["allowed-tools"] = tools
        space = " " if place.shape is NodeStyle.BLOCK else ""
        yield Edit(start, end, space + format_scalar(tools))


def _quoted(draft: EditableFrontmatter, field_path: FieldPath, value: Json) -> tuple[str, list[Edit]] | None:
    """Return the text of a number or a boolean as written, and the edits that quote it."""
    if not isinstance(value, (bool, int, float)):
        return None
    place = draft.places[field_path]
    written = draft.text[place.start : place.end].strip()
    return written, [*replace_value(draft, field_path, f'"{written}"')]


def _quote_field(name: str) -> "Fix":
    def fix(draft: EditableFrontmatter, _subject: ContractSkill, expected: dict[str, Json]) -> Iterator[Edit]:
        """Put a number or a boolean in quotes."""
        if (quoted := _quoted(draft, (name,), draft.values.get(name))) is not None:
            expected[name] = quoted[0]
            yield from quoted[1]

    return fix


def _metadata(
    draft: EditableFrontmatter, _subject: ContractSkill, expected: dict[str, Json]
) -> Iterator[Edit]:
    """Put numbers and booleans in `metadata` in quotes."""
    values = draft.values.get("metadata")
    for key, value in values.items() if isinstance(values, dict) else ():
        if (quoted := _quoted(draft, ("metadata", key), value)) is not None:
            cast("dict[str, Any]", expected["metadata"])[key] = quoted[0]
            yield from quoted[1]


def _invocation(
    draft: EditableFrontmatter, _subject: ContractSkill, expected: dict[str, Json]
) -> Iterator[Edit]:
    """Remove the quotes around `true` and `false`."""
    for name in ("disable-model-invocation", "user-invocable"):
        value = draft.values.get(name)
        if isinstance(value, str) and value.lower() in _BOOLEANS:
            expected[name] = _BOOLEANS[value.lower()]
            yield from replace_value(draft, (name,), value.lower())


def _ambiguous(
    draft: EditableFrontmatter, _subject: ContractSkill, _expected: dict[str, Json]
) -> Iterator[Edit]:
    """Put text in quotes that YAML 1.1 would read as something else."""
    for field_path, place in draft.places.items():
        written = draft.text[place.start : place.end]
        if place.shape is NodeStyle.SCALAR and may_be_ambiguous(written):
            value: Any = draft.values
            for part in field_path:
                value = value[part]
            if value == written:
                yield Edit(place.start, place.end, f'"{written}"')


Fix = Callable[[EditableFrontmatter, ContractSkill, dict[str, Json]], Iterable[Edit]]
"""A function that yields the edits of a fix, and updates its last argument to the expected frontmatter."""

NAME_RULES = frozenset({Rule.NAME_MISSING, Rule.NAME_FORMAT, Rule.NAME_FOLDER})
STANDARD_FIXES: Mapping[Rule, Fix] = {
    **dict.fromkeys(NAME_RULES, _name),
    Rule.DESCRIPTION_TYPE: _quote_field("description"),
    Rule.LICENSE_TYPE: _quote_field("license"),
    Rule.COMPATIBILITY_FORMAT: _quote_field("compatibility"),
    Rule.METADATA_TYPE: _metadata,
    Rule.ALLOWED_TOOLS_FORMAT: _tools,
    Rule.INVOCATION_TYPE: _invocation,
    Rule.YAML_AMBIGUOUS: _ambiguous,
}
