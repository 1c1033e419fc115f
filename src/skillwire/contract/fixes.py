"""Fix problems that have exactly one fix. Only the affected characters change."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

from skillwire.contract.rules.block import proposed_version, repeated
from skillwire.contract.rules.skill import ContractSkill, SkillFacts, expected_uris, key_of
from skillwire.core.problem import Rule
from skillwire.core.record import Json
from skillwire.frontmatter.positions import FieldPath, NodeStyle, Position, find_positions
from skillwire.frontmatter.rules import parse_tools
from skillwire.frontmatter.split import OPENING, UnreadableError, split
from skillwire.frontmatter.writer import format_scalar
from skillwire.frontmatter.yaml12 import load

_COMMENT = re.compile(r"#.*")
_SHORT_VERSION = re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))?")
"""Matches a version with one or two numbers, which YAML reads as a number."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement for the characters from `start` to `end` of `EditableFrontmatter.text`.

    Line breaks in `text` are `\\n`. They are written in the style of the file.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class EditableFrontmatter:
    """The frontmatter of a file, with the positions needed to edit it."""

    content: bytes
    text: str
    values: Mapping[str, Json]
    places: Mapping[FieldPath, Position]

    @classmethod
    def of(cls, content: bytes) -> "EditableFrontmatter":
        """Parse the content of a `SKILL.md`. Raises `UnreadableError`."""
        text = split(content).text
        return cls(content, text, load(text).values, find_positions(text))

    def apply_edits(self, edits: Iterable[Edit]) -> bytes:
        """Return the `SKILL.md` with these edits, which must not overlap. All other bytes stay the same."""
        parts = split(self.content)
        source = self.content[parts.start : parts.end].decode()
        offsets = _offsets(source)
        newline = "\r\n" if "\r\n" in source else "\n"
        for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
            start, end = (offsets[at - len(OPENING)] for at in (edit.start, edit.end))
            source = source[:start] + edit.text.replace("\n", newline) + source[end:]
        return self.content[: parts.start] + source.encode() + self.content[parts.end :]

    def line_start(self, at: int) -> int:
        """Return the offset at which the line that contains `at` begins."""
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """Return the offset after the line that contains `at`."""
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1


def _offsets(source: str) -> list[int]:
    """Return the offset of each character in `source`, and of its end. `\\r\\n` counts as one character."""
    positions = (at for at in range(len(source)) if source[max(at - 1, 0) : at + 1] != "\r\n")
    return [*positions, len(source)]


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


def _apply_fix(draft: EditableFrontmatter, fix: "Fix", key: str, folder: str | None) -> bytes:
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


def _tools(draft: EditableFrontmatter, subject: ContractSkill, expected: dict[str, Json]) -> Iterator[Edit]:
    """Separate the tools in `allowed-tools` with spaces instead of commas."""
    value = subject.facts.frontmatter.get("allowed-tools")
    if isinstance(value, str):
        expected["allowed-tools"] = tools = " ".join(parse_tools(value))
        yield from _replace_value(draft, ("allowed-tools",), format_scalar(tools))


def _version(draft: EditableFrontmatter, subject: ContractSkill, expected: dict[str, Json]) -> Iterator[Edit]:
    """Quote a version written as a number, and complete it: `1.10` becomes `"1.10.0"`."""
    value, field_path = subject.block.get("version"), subject.field_path("version")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        place = draft.places[field_path]
        written = draft.text[place.start : place.end].strip()
        if _SHORT_VERSION.fullmatch(written):
            _block(expected, subject)["version"] = version = proposed_version(written)
            yield from _replace_value(draft, field_path, f'"{version}"')


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


Fix = Callable[[EditableFrontmatter, ContractSkill, dict[str, Json]], Iterable[Edit]]
"""A function that yields the edits of a fix, and updates its last argument to the expected frontmatter."""

FIXES: Mapping[Rule, Fix] = {
    Rule.ALLOWED_TOOLS_FORMAT: _tools,
    Rule.CONTRACT_VERSION_TYPE: _version,
    Rule.CONTRACT_TAG_DUPLICATE: _tags,
    Rule.CONTRACT_CAPABILITIES_MISSING: _capabilities,
}


def _replace_value(draft: EditableFrontmatter, field_path: FieldPath, text: str) -> Iterator[Edit]:
    """Yield the edit that replaces the value of a field. Yield nothing if a comment would be lost."""
    place = draft.places[field_path]
    written = draft.text[place.start : place.end]
    # The first line of a block scalar may end in a comment. The text of a block scalar ends in a line break,
    # which must stay.
    if not (written.startswith(("|", ">")) and "#" in written.partition("\n")[0]):
        yield Edit(place.start, place.end, text + ("\n" if written.endswith("\n") else ""))


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
