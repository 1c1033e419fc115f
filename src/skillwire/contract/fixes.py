"""Fix problems that have exactly one fix. Only the affected characters change."""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, cast

from skillwire.contract.editing import Edit, EditableFrontmatter, replace_value
from skillwire.contract.rules.block import proposed_version, repeated
from skillwire.contract.rules.skill import ContractSkill, SkillFacts, expected_uris, is_id, key_of
from skillwire.contract.standard_fixes import STANDARD_FIXES, Fix
from skillwire.core.problem import Rule
from skillwire.core.record import Json
from skillwire.frontmatter.positions import NodeStyle
from skillwire.frontmatter.split import UnreadableError
from skillwire.frontmatter.writer import format_scalar
from skillwire.frontmatter.yaml12 import load

FIRST_VERSION = "0.1.0"
"""The version of a skill that has none."""
_COMMENT = re.compile(r"#.*")
_SHORT_VERSION = re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))?")
"""Matches a version with one or two numbers, which YAML reads as a number."""


def apply_fixes(content: bytes, rules: Iterable[Rule], key: str | None, folder: str | None) -> bytes:
    """Return the content of a `SKILL.md` after fixing the violations of these rules.

    The block is under `key` or, if that is None, under one of `BLOCK_KEYS`. `folder` is the name of the
    skill's folder. Rules without a fix are ignored. A fix that would also change other values is not applied.
    Raises `UnreadableError`.
    """
    for rule in dict.fromkeys(rules):
        if (fix := FIXES.get(rule)) is not None:
            draft = EditableFrontmatter.of(content)
            content = _apply_fix(draft, fix, key_of(draft.values, key), folder)
    return content


def _apply_fix(draft: EditableFrontmatter, fix: Fix, key: str, folder: str | None) -> bytes:
    block = draft.values.get(key)
    subject = ContractSkill(
        SkillFacts("", folder, draft.values), key, block if isinstance(block, dict) else {}
    )
    expected = deepcopy(dict(draft.values))
    edits = list(fix(draft, subject, expected))
    after = draft.apply_edits(edits)
    # YAML can be laid out in ways that the edits do not expect. If the result does not have exactly the
    # expected values, leave the file unchanged.
    try:
        return after if load(EditableFrontmatter.of(after).text).values == expected else draft.content
    except UnreadableError:
        return draft.content


def _id(draft: EditableFrontmatter, subject: ContractSkill, expected: dict[str, Json]) -> Iterator[Edit]:
    """Write the id, if the name and the folder agree on it."""
    name = subject.name
    if name is not None and name == subject.facts.folder and is_id(name):
        yield from _write_first(draft, subject, expected, "id", name)


def _first_version(
    draft: EditableFrontmatter, subject: ContractSkill, expected: dict[str, Json]
) -> Iterator[Edit]:
    """Write a version into a block that has none."""
    yield from _write_first(draft, subject, expected, "version", FIRST_VERSION)


def _write_first(
    draft: EditableFrontmatter, subject: ContractSkill, expected: dict[str, Json], field: str, value: str
) -> Iterator[Edit]:
    """Yield the edit that writes a field, as the first of the block, unless the field has a value."""
    text = f'"{value}"' if field == "version" else format_scalar(value)
    block = subject.facts.frontmatter.get(subject.key)
    if not isinstance(block, dict) or block.get(field) is not None:
        return
    _block(expected, subject)[field] = value
    place, empty = draft.places[subject.key,], draft.places.get(subject.field_path(field))
    first = next(iter(block), None)
    if empty is not None:
        yield Edit(empty.start, empty.end, f" {text}" if empty.start == empty.end else text)
    elif place.shape is NodeStyle.FLOW:
        at = draft.text.index("{", place.start) + 1
        yield Edit(at, at, f"{field}: {text}, " if block else f"{field}: {text}")
    elif first is not None:
        column = draft.places[subject.key, first].column
        yield Edit(place.start, place.start, f"{field}: {text}\n{' ' * column}")


def _version(draft: EditableFrontmatter, subject: ContractSkill, expected: dict[str, Json]) -> Iterator[Edit]:
    """Quote a version written as a number, and complete it: `1.10` becomes `"1.10.0"`."""
    value, field_path = subject.block.get("version"), subject.field_path("version")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        place = draft.places[field_path]
        written = draft.text[place.start : place.end].strip()
        if _SHORT_VERSION.fullmatch(written):
            _block(expected, subject)["version"] = version = proposed_version(written)
            yield from replace_value(draft, field_path, f'"{version}"')


def _tags(draft: EditableFrontmatter, subject: ContractSkill, expected: dict[str, Json]) -> Iterator[Edit]:
    """Remove repeated tags."""
    tags = subject.block.get("tags")
    if not isinstance(tags, list):
        return
    duplicates = [at for at, _ in repeated(tags)]
    _block(expected, subject)["tags"] = [tag for at, tag in enumerate(tags) if at not in duplicates]
    field_path = subject.field_path("tags")
    if draft.places[field_path].shape is NodeStyle.FLOW:
        for at in duplicates:  # also remove the comma before the tag; a repeated tag is never the first
            before, here = draft.places[*field_path, at - 1], draft.places[*field_path, at]
            if "#" not in draft.text[before.end : here.start]:
                yield Edit(before.end, here.end, "")
        return
    for at in duplicates:
        place = draft.places[*field_path, at]
        start, end = draft.line_start(place.start), draft.line_end(place.end)
        comment = draft.text[place.end : end].strip()
        indent = " " * (draft.text.index("-", start) - start)
        yield Edit(start, end, f"{indent}{comment}\n" if comment else "")


def _capabilities(
    draft: EditableFrontmatter, subject: ContractSkill, expected: dict[str, Json]
) -> Iterator[Edit]:
    """Add the capabilities that the block must declare, if it declares none."""
    if not isinstance(subject.facts.frontmatter.get(subject.key), dict) or subject.block.get("capabilities"):
        return
    addresses = list(expected_uris(subject))
    _block(expected, subject)["capabilities"] = cast("list[Json]", addresses)
    place, empty = draft.places[subject.key,], draft.places.get(subject.field_path("capabilities"))
    if place.shape is NodeStyle.FLOW:
        listed = "[" + ", ".join(addresses) + "]"
        if empty is not None:
            yield Edit(empty.start, empty.end, f" {listed}" if empty.start == empty.end else listed)
            return
        closing = draft.text.rindex("}", place.start, place.end)
        separator = ", " if subject.block and not _ends_in_comma(draft, subject.key, closing) else ""
        yield Edit(closing, closing, f"{separator}capabilities: {listed}")
        return
    first = next(iter(subject.block), None)
    if first is None:
        return
    indent = " " * draft.places[subject.key, first].column
    items = "".join(f"\n{indent}  - {address}" for address in addresses)
    if empty is not None:
        yield Edit(empty.start, empty.end, items)
        return
    # Insert after the last value of the block, before comments and empty lines that belong to the next field.
    last = max(
        (
            each
            for field_path, each in draft.places.items()
            if field_path[:1] == (subject.key,) and each.shape is not NodeStyle.BLOCK
        ),
        key=lambda each: each.end,
    )
    end = len(draft.text[: last.end].rstrip(" \n"))
    at = draft.line_end(end) if end > last.start else draft.line_end(last.start)
    yield Edit(at, at, f"{indent}capabilities:{items}\n")


ADOPTION_RULES = frozenset({Rule.CONTRACT_VERSION_MISSING})
"""Rules whose fix is a guess that `--adopt` makes for new blocks, too."""
FIXES: Mapping[Rule, Fix] = {
    **STANDARD_FIXES,
    Rule.CONTRACT_VERSION_MISSING: _first_version,
    Rule.CONTRACT_ID_MISSING: _id,
    Rule.CONTRACT_VERSION_TYPE: _version,
    Rule.CONTRACT_TAG_DUPLICATE: _tags,
    Rule.CONTRACT_CAPABILITIES_MISSING: _capabilities,
}


def _ends_in_comma(draft: EditableFrontmatter, key: str, closing: int) -> bool:
    """Return whether the block in braces that ends at `closing` has a trailing comma."""
    last = max(
        place.end
        for field_path, place in draft.places.items()
        if len(field_path) > 1 and field_path[0] == key
    )
    return "," in _COMMENT.sub("", draft.text[last:closing])


def _block(expected: dict[str, Json], subject: ContractSkill) -> dict[str, Any]:
    """Return the metadata block in the expected frontmatter."""
    return cast("dict[str, Any]", expected[subject.key])
