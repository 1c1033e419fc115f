"""The text of a configuration, changed so that everything else in it stays as it was written."""

import tomllib
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

Change = Callable[[MutableMapping[str, Any]], None]
"""What is to change: in a document, or in the values that it holds."""


def table_in(
    parent: MutableMapping[str, Any], key: str, make: Callable[[], Any] = tomlkit.table
) -> MutableMapping[str, Any]:
    """Return the table at `key`, made if there is none: an inline one where nothing else can stand."""
    if key not in parent:
        parent[key] = tomlkit.inline_table() if isinstance(parent, InlineTable) else make()
    return parent[key]


def changed(text: str, attempts: Sequence[Change]) -> str | None:
    """Return `text` after the first of these ways that changes nothing else; None if each of them does."""
    wanted = _values(text)
    attempts[0](wanted)
    if (meant := _plain(wanted)) == _values(text):
        return text
    whole = _with_final_newline(text)
    for attempt in attempts:
        try:
            document = tomlkit.parse(whole)
            attempt(document)
            after = tomlkit.dumps(document)
            if _values(after) == meant:
                return after
        except (TOMLKitError, tomllib.TOMLDecodeError, LookupError):
            continue  # tables can be written in ways that the library cannot change
    return None


def _values(text: str) -> dict[str, Any]:
    """Return what a text says, so that it can be compared: a number that is none equals no other."""
    return tomllib.loads(text, parse_float=str)


def _plain(value: Any) -> Any:
    """Return a value without the traces of who wrote it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    return value


def _with_final_newline(text: str) -> str:
    """Return a text whose last line has an end, so that another can follow."""
    if not text or text.endswith("\n"):
        return text
    return text + ("\r\n" if "\r\n" in text else "\n")
