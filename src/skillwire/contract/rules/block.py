"""Rules for the metadata block: its id, version, tags, dependencies and icons, and the size of numbers."""

import re
from collections.abc import Callable, Iterable, Iterator

from skillwire.contract.rules.skill import (
    ContractSkill,
    id_fault,
    is_kebab,
    kebab,
    not_text,
    proposed_id,
    texts,
)
from skillwire.core.names import is_skill_name
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Json
from skillwire.frontmatter.positions import FieldPath
from skillwire.safe_text import quoted

# SemVer: numbers have no leading zeros, except in build metadata.
_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRE = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD = r"[0-9A-Za-z-]+"
PATTERN = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRE}(?:\.{_PRE})*)?(?:\+{_BUILD}(?:\.{_BUILD})*)?"

_VERSION = re.compile(PATTERN)
_ALMOST = re.compile(r"[vV]?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?")
_LOST_ZERO = re.compile(r"[0-9]+\.[1-9]")
"""Matches a number that may have been written with a trailing zero. YAML reads `1.10` as `1.1`."""
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


def is_semver(text: str) -> bool:
    """Return whether `text` is a valid SemVer 2.0.0 version."""
    return _VERSION.fullmatch(text) is not None


def proposed_version(text: str) -> str:
    """Return the version that `text` most likely means: `1.2.0` for `v1.2`.

    Return `1.0.0` if `text` does not begin with a number or with `v` and a number.
    """
    if (found := _ALMOST.match(text)) is None:
        return "1.0.0"
    # Do not convert to `int`, which refuses very long numbers.
    return ".".join((part or "0").lstrip("0") or "0" for part in found.groups())


def id_missing(subject: ContractSkill) -> Iterator[Problem]:
    value = subject.block.get("id")
    if not isinstance(value, str) or not value:
        message = "the id is empty" if value == "" else "the id is not text"
        message = "the block has no id" if value is None else message
        hint = f"write {quoted(f'id: {subject.namespace}')}, the name of the skill"
        yield subject.problem(subject.field_path("id"), Rule.CONTRACT_ID_MISSING, message, hint)


def id_name(subject: ContractSkill) -> Iterator[Problem]:
    # Skip an invalid name: another rule reports it, and an id must not repeat it.
    others = {"the name": subject.name, "the folder": subject.facts.folder}
    for what, other in others.items():
        if subject.id and other is not None and is_skill_name(other) and subject.id != other:
            message = f"{quoted(subject.id)} is not the same as {what}, {quoted(other)}"
            hint = f"write {quoted(f'id: {other}')}, or change {what}"
            yield subject.problem(subject.field_path("id"), Rule.CONTRACT_ID_NAME, message, hint)
            return


def version_missing(subject: ContractSkill) -> Iterator[Problem]:
    if subject.block.get("version") is None:
        hint = 'write `version: "1.0.0"`'
        yield subject.problem(
            subject.field_path("version"), Rule.CONTRACT_VERSION_MISSING, "the block has no version", hint
        )


def version_type(subject: ContractSkill) -> Iterator[Problem]:
    value = subject.block.get("version")
    if value is None or isinstance(value, str):
        return
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        message = f"`{value}` is a number, not text"
        hint = f'quote it, and write all three numbers: `version: "{proposed_version(str(value))}"`'
        if _LOST_ZERO.fullmatch(str(value)):
            hint += f'; if you wrote `{value}0`, write `version: "{proposed_version(f"{value}0")}"`'
    else:
        message, hint = "the version is not text", 'write `version: "1.0.0"`'
    yield subject.problem(subject.field_path("version"), Rule.CONTRACT_VERSION_TYPE, message, hint)


def version_format(subject: ContractSkill) -> Iterator[Problem]:
    value = subject.block.get("version")
    if isinstance(value, str) and not is_semver(value):
        message = f"{quoted(value)} is not a version by SemVer 2.0" if value else "the version is empty"
        hint = f'write `version: "{proposed_version(value)}"`'
        yield subject.problem(subject.field_path("version"), Rule.CONTRACT_VERSION_FORMAT, message, hint)


def tags_type(subject: ContractSkill) -> Iterator[Problem]:
    hint = "write `tags: [billing, customers]`"
    yield from _list_of_text(subject, "tags", "tags", Rule.CONTRACT_TAGS_TYPE, hint)


def tag_format(subject: ContractSkill) -> Iterator[Problem]:
    for at, tag in enumerate(_items(subject, "tags")):
        if tag == "":
            field_path, message = subject.field_path("tags", at), "the tag is empty, and is not served"
            yield subject.problem(field_path, Rule.CONTRACT_TAG_FORMAT, message, "remove it")
        elif isinstance(tag, str) and not is_kebab(tag):
            message = f"{quoted(tag)} is not lowercase words with single hyphens between them"
            hint = f"write {quoted(kebab(tag) or 'my-tag')}"
            yield subject.problem(subject.field_path("tags", at), Rule.CONTRACT_TAG_FORMAT, message, hint)


def tag_duplicate(subject: ContractSkill) -> Iterator[Problem]:
    for at, tag in repeated(_items(subject, "tags")):
        message, hint = f"the tag {quoted(tag)} is given twice", "remove one of the two"
        yield subject.problem(subject.field_path("tags", at), Rule.CONTRACT_TAG_DUPLICATE, message, hint)


def dependencies_type(subject: ContractSkill) -> Iterator[Problem]:
    hint = "write `depends_on: [other-skill]`"
    yield from _list_of_text(subject, "depends_on", "dependencies", Rule.CONTRACT_DEPENDENCIES_TYPE, hint)


def dependency_id(subject: ContractSkill) -> Iterator[Problem]:
    for at, other in enumerate(_items(subject, "depends_on")):
        if isinstance(other, str) and (message := id_fault(other, "dependency")):
            hint = f"write {quoted(proposed_id(other, 'skill'))}, or remove it" if other else "remove it"
            yield subject.problem(
                subject.field_path("depends_on", at), Rule.CONTRACT_DEPENDENCY_ID, message, hint
            )


def dependency_self(subject: ContractSkill) -> Iterator[Problem]:
    for at, other in enumerate(_items(subject, "depends_on")):
        if isinstance(other, str) and other == subject.id:
            message, hint = "the skill depends on itself", "remove it from the list"
            yield subject.problem(
                subject.field_path("depends_on", at), Rule.CONTRACT_DEPENDENCY_SELF, message, hint
            )


def dependency_duplicate(subject: ContractSkill) -> Iterator[Problem]:
    for at, other in repeated(_items(subject, "depends_on")):
        message, hint = f"the dependency {quoted(other)} is given twice", "remove one of the two"
        yield subject.problem(
            subject.field_path("depends_on", at), Rule.CONTRACT_DEPENDENCY_DUPLICATE, message, hint
        )


def icons(subject: ContractSkill) -> Iterator[Problem]:
    value = subject.block.get("icons")
    if value is None:
        return
    hint = "write a list as in MCP: `icons: [{src: https://…, mimeType: image/png}]`"
    if not isinstance(value, list):
        yield subject.problem(
            subject.field_path("icons"), Rule.CONTRACT_ICONS, "the icons are not a list", hint
        )
        return
    for at, icon in enumerate(value):
        if fault := _icon_fault(icon):
            yield subject.problem(subject.field_path("icons", at), Rule.CONTRACT_ICONS, fault, hint)


CHECKS: tuple[Callable[[ContractSkill], Iterable[Problem]], ...] = (
    id_missing,
    id_name,
    version_missing,
    version_type,
    version_format,
    tags_type,
    tag_format,
    tag_duplicate,
    dependencies_type,
    dependency_id,
    dependency_self,
    dependency_duplicate,
    icons,
)


def repeated(items: Iterable[Json]) -> Iterator[tuple[int, str]]:
    """Yield the index and value of each string that repeats an earlier one in the list."""
    seen: set[str] = set()
    for at, item in enumerate(items):
        if isinstance(item, str):
            if item in seen:
                yield at, item
            seen.add(item)


def _items(subject: ContractSkill, name: str) -> list[Json]:
    value = subject.block.get(name)
    return value if isinstance(value, list) else []


def _list_of_text(subject: ContractSkill, name: str, what: str, rule: Rule, hint: str) -> Iterator[Problem]:
    """Yield a problem if a field is not a list, else one for each item that is not text.

    A missing field is valid.
    """
    value = subject.block.get(name, [])
    if not isinstance(value, list):
        yield subject.problem(subject.field_path(name), rule, f"the {what} are not a list", hint)
        return
    for at in not_text(value):
        yield subject.problem(subject.field_path(name, at), rule, "the value is not text", hint)


def _icon_fault(icon: Json) -> str | None:
    """Return why MCP would not accept an icon, or None if it would."""
    if not isinstance(icon, dict):
        return "the icon is not a mapping"
    if not isinstance(source := icon.get("src"), str) or not source:
        return "`src` is empty" if source == "" else "the icon has no `src`"
    if not isinstance(icon.get("mimeType", ""), str):
        return "`mimeType` is not text"
    sizes = icon.get("sizes", [])
    if not isinstance(sizes, list) or len(texts(sizes)) < len(sizes):
        return "`sizes` is not a list of text"
    if icon.get("theme", "light") not in (
        "light",
        "dark",
    ):  # a tuple, because an unhashable value cannot be looked up in a set
        return "`theme` is neither `light` nor `dark`"
    return None


def number_size(subject: ContractSkill) -> Iterator[Problem]:
    for name, value in subject.block.items():
        for field_path in _too_large(value, subject.field_path(name)) if name != "version" else ():
            message = "the number has more than 64 bits, and would lose its last digits"
            yield subject.problem(field_path, Rule.CONTRACT_NUMBER_SIZE, message, "put it in quotes, as text")


NUMBER_CHECKS: tuple[Callable[[ContractSkill], Iterable[Problem]], ...] = (number_size,)


def _too_large(value: Json, field_path: FieldPath) -> Iterator[FieldPath]:
    """Yield the path of each number that does not fit into 64 bits."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _too_large(item, (*field_path, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _too_large(item, (*field_path, at))
    elif isinstance(value, (int, float)) and not _SMALLEST <= value <= _LARGEST:
        yield field_path
