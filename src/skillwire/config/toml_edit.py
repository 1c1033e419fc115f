"""Make one change to a TOML text, and keep all other text as written."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Item

_COMMENT = re.compile(r"^[ \t]*(#[^\r\n]*)", re.MULTILINE)
Change = Callable[[MutableMapping[str, Any]], None]
"""A function that makes a change, in a tomlkit document or in plain values."""


def table_in(
    parent: MutableMapping[str, Any], key: str, make: Callable[[], Any] = tomlkit.table
) -> MutableMapping[str, Any]:
    """Return the table at `key`.

    If it is missing, create it with `make`. Inside an inline table, create an inline table instead.
    """
    if key not in parent:
        parent[key] = tomlkit.inline_table() if isinstance(parent, InlineTable) else make()
    return parent[key]


def has_comment(table: MutableMapping[str, Any]) -> bool:
    """Return whether a table contains a comment, which may be about the table that follows it."""
    return isinstance(table, Item) and "#" in table.as_string()


def changed(text: str, attempts: Sequence[Change]) -> str | None:
    """Return `text` after the first attempt that has exactly the expected effect, or None if none has.

    The first attempt, made on plain values, defines the expected effect. If it has no effect, return `text`
    unchanged.
    """
    values = _values(text)
    attempts[0](values)
    if _plain(values) == _values(text):
        return text
    expected = _settings(_plain(values))
    whole = _with_final_newline(text)
    for attempt in attempts:
        try:
            document = tomlkit.parse(whole)
            attempt(document)
            after = _with_lost_comments(whole, tomlkit.dumps(document))
            if _settings(_values(after)) == expected:
                return after
        except (TOMLKitError, tomllib.TOMLDecodeError, LookupError):
            continue  # tomlkit cannot change some ways to write a table
    return None


def _values(text: str) -> dict[str, Any]:
    """Return the values in a TOML text for comparison.

    Floats become strings, because `nan` does not equal itself.
    """
    return tomllib.loads(text, parse_float=str)


def _with_lost_comments(before: str, after: str) -> str:
    """Append the comment lines of `before` that `after` no longer has.

    tomlkit takes a comment above a table for the end of the table before it, and removes both.
    """
    lost = Counter(_COMMENT.findall(before)) - Counter(_COMMENT.findall(after))
    if not lost:
        return after
    end = "\r\n" if "\r\n" in before else "\n"
    return _with_final_newline(after) + "".join(f"{line}{end}" for line in lost.elements())


def _settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without empty tables, which may be left because of a comment and set nothing."""
    return {key: value for key, value in values.items() if value != {}}


def _plain(value: Any) -> Any:
    """Convert tomlkit's types to plain Python types."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    return value


def _with_final_newline(text: str) -> str:
    """Append a line break if the last line has none."""
    if not text or text.endswith("\n"):
        return text
    return text + ("\r\n" if "\r\n" in text else "\n")
