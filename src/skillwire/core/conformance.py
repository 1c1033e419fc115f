"""Find out why strict clients refuse a skill, and therefore the whole list.

Several clients validate every entry of `skills/list` and show no skill if one entry is invalid. This module
checks everything that at least one of these clients requires: TypeScript SDK 2.4, FastMCP 4.1 and 4.2
(frontmatter), fast-agent 0.10 (names and file paths). A skill that all of them accept is listed, even if
it is unusual. `tests/unit/protocol/test_strict_clients.py` compares these rules with the clients.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
MAX_FILE_PATH = 1024
"""Maximum number of characters in a file's path, relative to the skill's folder."""

_DEVICE = r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])"
_DEVICE_NAME = re.compile(_DEVICE)
# Search all paths at once, joined by slashes. This is fast, and nearly every skill passes.
_UNPORTABLE = re.compile(
    rf"""
      [<>:"|?*\\\x00-\x1f]              # characters that Windows does not allow in names
    | [ .](?:/|\Z)                      # and endings
    | (?:\A|/){_DEVICE}(?:[./]|\Z)      # and names of devices, with or without a suffix
    """,
    re.VERBOSE | re.IGNORECASE,
)
_RESERVED_FILE = ".skill-source.json"
_MAX_NAMED_PATHS = 3
"""Maximum number of files that a message names."""


@dataclass(frozen=True, slots=True)
class Nonconformity:
    """One reason why strict clients refuse a skill.

    `field` is the frontmatter field, if the reason concerns one.
    """

    message: str
    fix: str
    field: str = ""


_ONLY_SKILL_FILE = ["SKILL.md"]
_MIN_USUAL_NAME = 8
"""Minimum length of a name that is certainly not reserved on Windows."""


def nonconformities(frontmatter: Mapping[str, object], paths: Collection[str]) -> tuple[Nonconformity, ...]:
    """Return the reasons why strict clients refuse a list with this skill: first for fields, then for paths.

    `paths` are the decoded paths of the files in the skill's entry, relative to the skill's folder. They are
    empty for a dynamic skill, whose entry lists no files.
    """
    found = () if _is_usual(frontmatter) else tuple(_check_frontmatter(frontmatter))
    return found if paths == _ONLY_SKILL_FILE else (*found, *_check_paths(paths))


def _is_usual(frontmatter: Mapping[str, object]) -> bool:
    """Return whether it is certain that the frontmatter conforms. Decided quickly for nearly every skill."""
    for field, value in frontmatter.items():
        if field == "metadata":
            if _metadata(value) is not None:
                return False
        elif field == "name":
            if not isinstance(value, str) or len(value) < _MIN_USUAL_NAME:
                return False
        elif field in _FIELDS and not _is_short_text(value):
            return False
    return True


def _is_short_text(value: object) -> bool:
    """Return whether a value is text that conforms in every field."""
    return isinstance(value, str) and 0 < len(value) <= MAX_COMPATIBILITY and not value.isspace()


def _check_frontmatter(frontmatter: Mapping[str, object]) -> Iterator[Nonconformity]:
    if isinstance(name := frontmatter.get("name"), str) and _DEVICE_NAME.fullmatch(name):
        yield Nonconformity(f"the name `{name}` is reserved on Windows", "choose another name", "name")
    for field, check in _FIELDS.items():
        if field in frontmatter and (found := check(frontmatter[field])) is not None:
            yield Nonconformity(*found, field)


def _description(value: object) -> tuple[str, str] | None:
    if not isinstance(value, str) or not value.strip():
        return "`description` is not text, or is empty", "write what the skill does, and when to use it"
    return _too_long("description", value, MAX_DESCRIPTION) if len(value) > MAX_DESCRIPTION else None


def _compatibility(value: object) -> tuple[str, str] | None:
    if not isinstance(value, str) or not value:
        return "`compatibility` is not text, or is empty", "write what the skill needs, or remove the field"
    return _too_long("compatibility", value, MAX_COMPATIBILITY) if len(value) > MAX_COMPATIBILITY else None


def _metadata(value: object) -> tuple[str, str] | None:
    if isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values()):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return None
    if isinstance(value, Mapping):
        return "`metadata` has values that are not text", "put the values of `metadata` in quotes"
    fix = 'write one indented `key: "value"` on each line below `metadata:`'
    return "`metadata` does not map keys to values", fix


def _license(value: object) -> tuple[str, str] | None:
    return None if isinstance(value, str) else ("`license` is not text", "write text, or remove the field")


def _allowed_tools(value: object) -> tuple[str, str] | None:
    if isinstance(value, str):
        return None
    return "`allowed-tools` is not one line of text", "write the tools on one line, with spaces between them"


def _prototype(value: object) -> tuple[str, str] | None:
    """Return why strict clients refuse this value of the field `__proto__`, or None if they accept it."""
    if isinstance(value, str | int | float):
        return None  # JavaScript ignores it
    return "JavaScript takes the field `__proto__` for something else", "rename the field"


def _too_long(field: str, value: str, limit: int) -> tuple[str, str]:
    return f"`{field}` has {len(value):,} characters, the limit is {limit:,}", f"shorten `{field}`"


_FIELDS: Mapping[str, Callable[[object], tuple[str, str] | None]] = {
    "description": _description,
    "license": _license,
    "compatibility": _compatibility,
    "metadata": _metadata,
    "allowed-tools": _allowed_tools,
    "__proto__": _prototype,
}


def _check_paths(paths: Collection[str]) -> Iterator[Nonconformity]:
    if _UNPORTABLE.search("/".join(paths)) is not None:
        bad = [path for path in paths if _UNPORTABLE.search(path)]
        more = f" and {len(bad) - _MAX_NAMED_PATHS} more" if len(bad) > _MAX_NAMED_PATHS else ""
        named = ", ".join(map(_format_path, bad[:_MAX_NAMED_PATHS])) + more
        what = f"the files {named} have names" if len(bad) > 1 else f"the file {named} has a name"
        yield Nonconformity(f"{what} that Windows does not allow", "rename the files or their folders")
    for path in paths:
        if len(path) > MAX_FILE_PATH:
            message = f"the path of {_format_path(path)} has more than {MAX_FILE_PATH:,} characters"
            yield Nonconformity(message, "shorten the names of its folders")
            return
        if path.casefold() == _RESERVED_FILE:
            yield Nonconformity(f"the file `{_RESERVED_FILE}` has a reserved name", "rename the file")
            return


def _format_path(path: str) -> str:
    from skillwire.safe_text import quoted  # noqa: PLC0415 - needed only to report a problem

    return quoted(path)
