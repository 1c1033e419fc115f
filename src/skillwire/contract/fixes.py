"""Fix problems that have exactly one fix, changing only the characters concerned."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, cast

from skillwire.contract.rules.block import proposed_version, repeated
from skillwire.contract.rules.skill import ContractSkill, SkillFacts, expected_uris
from skillwire.core.problem import Rule
from skillwire.core.record import Json
from skillwire.frontmatter.positions import FieldPath, NodeStyle, Position, find_positions
from skillwire.frontmatter.rules import parse_tools
from skillwire.frontmatter.split import OPENING, UnreadableError, split
from skillwire.frontmatter.writer import format_scalar
from skillwire.frontmatter.yaml12 import load

_COMMENT = re.compile(r"#.*")
_SHORT_VERSION = re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*))?")
"""One or two parts of a version, which is a number to YAML."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What to write instead of a part of the text. Line breaks are `\\n`; the file keeps its own."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class EditableFrontmatter:
    """The frontmatter of a file, ready to be edited."""

    content: bytes
    text: str
    values: Mapping[str, Json]
    places: Mapping[FieldPath, Position]

    @classmethod
    def of(cls, content: bytes) -> "EditableFrontmatter":
        """Read a file. Raises `UnreadableError`."""
        text = split(content).text
        return cls(content, text, load(text).values, find_positions(text))

    def apply_edits(self, edits: Iterable[Edit]) -> bytes:
        """Return the file with these edits, which do not overlap: every other byte is as it was."""
        parts = split(self.content)
        source = self.content[parts.start : parts.end].decode()
        offsets = _offsets(source)
        newline = "\r\n" if "\r\n" in source else "\n"
        for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
            start, end = (offsets[at - len(OPENING)] for at in (edit.start, edit.end))
            source = source[:start] + edit.text.replace("\n", newline) + source[end:]
        return self.content[: parts.start] + source.encode() + self.content[parts.end :]

    def line_start(self, at: int) -> int:
        """Return where the line begins that holds the character at `at`."""
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """Return where the line after the one that holds `at` begins."""
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1


def _offsets(source: str) -> list[int]:
    """Return, for each character of `source` with `\\n` for `\\r\\n`, where it is; and where the end is."""
    kept = (at for at in range(len(source)) if source[max(at - 1, 0) : at + 1] != "\r\n")
    return [*kept, len(source)]


def apply_fixes(content: bytes, rules: Iterable[Rule], key: str, folder: str | None) -> bytes:
    """Return a `SKILL.md` in which faults against these rules are mended, where that can be done safely."""
    for rule in dict.fromkeys(rules):
        if (fix := FIXES.get(rule)) is not None:
            content = _apply_fix(content, fix, key, folder)
    return content


def _apply_fix(content: bytes, fix: "Fix", key: str, folder: str | None) -> bytes:
    draft = EditableFrontmatter.of(content)
    block = draft.values.get(key)
    subject = ContractSkill(
        SkillFacts("", folder, draft.values), key, block if isinstance(block, dict) else {}
    )
    wanted = deepcopy(dict(draft.values))
    edits = list(fix(draft, subject, wanted))
    after = draft.apply_edits(edits)
    # Text that people wrote can be laid out in ways that nobody thought of: what an edit would turn into
    # anything else than was meant is left to them.
    try:
        return after if load(EditableFrontmatter.of(after).text).values == wanted else content
    except UnreadableError:
        return content


def _tools(draft: EditableFrontmatter, subject: ContractSkill, wanted: dict[str, Json]) -> Iterator[Edit]:
    value = subject.facts.frontmatter.get("allowed-tools")
    if isinstance(value, str):
        wanted["allowed-tools"] = tools = " ".join(parse_tools(value))
        yield from _replace_value(draft, ("allowed-tools",), format_scalar(tools))


def _version(draft: EditableFrontmatter, subject: ContractSkill, wanted: dict[str, Json]) -> Iterator[Edit]:
    """Quote a number as it is written, with the parts that it leaves out: `1.10` is the version `1.10.0`."""
    value, way = subject.block.get("version"), subject.way("version")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        place = draft.places[way]
        written = draft.text[place.start : place.end].strip()
        if _SHORT_VERSION.fullmatch(written):
            _block(wanted, subject)["version"] = version = proposed_version(written)
            yield from _replace_value(draft, way, f'"{version}"')


def _tags(draft: EditableFrontmatter, subject: ContractSkill, wanted: dict[str, Json]) -> Iterator[Edit]:
    tags = subject.block.get("tags")
    if not isinstance(tags, list):
        return
    gone = [at for at, _ in repeated(tags)]
    _block(wanted, subject)["tags"] = [tag for at, tag in enumerate(tags) if at not in gone]
    way = subject.way("tags")
    if draft.places[way].shape is NodeStyle.FLOW:
        for at in gone:  # with the comma before it: a tag that is given again is never the first
            before, here = draft.places[*way, at - 1], draft.places[*way, at]
            if "#" not in draft.text[before.end : here.start]:
                yield Edit(before.end, here.end, "")
        return
    for at in gone:
        place = draft.places[*way, at]
        start, end = draft.line_start(place.start), draft.line_end(place.end)
        comment = draft.text[place.end : end].strip()
        indent = " " * (draft.text.index("-", start) - start)
        yield Edit(start, end, f"{indent}{comment}\n" if comment else "")


def _capabilities(
    draft: EditableFrontmatter, subject: ContractSkill, wanted: dict[str, Json]
) -> Iterator[Edit]:
    if not isinstance(subject.facts.frontmatter.get(subject.key), dict) or subject.block.get("capabilities"):
        return
    addresses = list(expected_uris(subject))
    _block(wanted, subject)["capabilities"] = cast("list[Json]", addresses)
    place, empty = draft.places[subject.key,], draft.places.get(subject.way("capabilities"))
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
    # Behind the last value of the block, and before comments and empty lines that belong to what follows.
    last = max(
        (
            each
            for way, each in draft.places.items()
            if way[:1] == (subject.key,) and each.shape is not NodeStyle.BLOCK
        ),
        key=lambda each: each.end,
    )
    end = len(draft.text[: last.end].rstrip(" \n"))
    at = draft.line_end(end) if end > last.start else draft.line_end(last.start)
    yield Edit(at, at, f"{indent}capabilities:{items}\n")


Fix = Callable[[EditableFrontmatter, ContractSkill, dict[str, Json]], Iterable[Edit]]
"""Yields the edits that mend a fault, and writes into the last argument what must come out of them."""

FIXES: Mapping[Rule, Fix] = {
    Rule.ALLOWED_TOOLS_FORMAT: _tools,
    Rule.CONTRACT_VERSION_TYPE: _version,
    Rule.CONTRACT_TAG_DUPLICATE: _tags,
    Rule.CONTRACT_CAPABILITIES_MISSING: _capabilities,
}


def _replace_value(draft: EditableFrontmatter, way: FieldPath, text: str) -> Iterator[Edit]:
    place = draft.places[way]
    written = draft.text[place.start : place.end]
    # The first line of a block scalar may end in a comment, which must not go; its line break stays, too.
    if not (written.startswith(("|", ">")) and "#" in written.partition("\n")[0]):
        yield Edit(place.start, place.end, text + ("\n" if written.endswith("\n") else ""))


def _ends_in_comma(draft: EditableFrontmatter, key: str, closing: int) -> bool:
    """Whether a comma stands behind the last value of a block in braces, which ends at `closing`."""
    last = max(place.end for way, place in draft.places.items() if len(way) > 1 and way[0] == key)
    return "," in _COMMENT.sub("", draft.text[last:closing])


def _block(wanted: dict[str, Json], subject: ContractSkill) -> dict[str, Any]:
    return cast("dict[str, Any]", wanted[subject.key])
