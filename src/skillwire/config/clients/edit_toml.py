"""Change one table in a TOML text, and keep all other text as written, comments included."""

import re
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, cast

from skillwire.config.clients.files import ClientFileError
from skillwire.config.clients.render import toml_table
from skillwire.config.toml_edit import changed, table_in

_STRINGS = re.compile(
    r'(?P<lines>"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5})|#[^\n]*|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'',
    re.DOTALL,
)
_HEADER = re.compile(r"^[ \t]*\[(?P<double>\[?)(?P<keys>[^\[\]\n]+)\](?:(?<=\])\])?[ \t]*(?:#.*)?$")


def span(text: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Return where the table at `path` starts and ends, or None if it has no header of its own."""
    headers = [*_headers(text), (len(text), ())]
    for at, (start, keys) in enumerate(headers):
        if list(keys) == list(path):
            end = next(where for where, each in headers[at + 1 :] if list(each[: len(path)]) != list(path))
            return start, start + _content_length(text[start:end])
    return None


def put(text: str, path: Sequence[str], value: object) -> str:
    """Return the text with `value` at `path`. Raises `ClientFileError`."""
    newline = "\r\n" if "\r\n" in text else "\n"

    def change(document: MutableMapping[str, Any]) -> None:
        _table(document, path[:-1])[path[-1]] = value

    if not isinstance(value, Mapping):
        return _changed(text, change)
    fields = cast("Mapping[str, object]", value)
    table = toml_table(path, fields, newline)
    if (found := span(text, path)) is not None:
        after = f"{text[: found[0]]}{table}{text[found[1] :]}"
    else:
        ended = text if not text or text.endswith("\n") else f"{text}{newline}"
        blank = newline if ended.strip() and not ended.endswith(newline * 2) else ""
        after = f"{ended}{blank}{table}"
    return after if _has_effect(text, after, path, fields) else _changed(text, change)


def remove(text: str, path: Sequence[str], prune: int = 0) -> str:  # noqa: ARG001 - a header has no empty parents
    """Return the text without the table at `path`. Raises `ClientFileError`."""
    if (found := span(text, path)) is not None:
        before, after = text[: found[0]], text[found[1] :]
        if before.endswith(("\n\n", "\r\n\r\n")):
            before = before.removesuffix("\n").removesuffix("\r")
        if _has_effect(text, before + after, path, None):
            return before + after

    def change(document: MutableMapping[str, Any]) -> None:
        del _table(document, path[:-1])[path[-1]]

    return _changed(text, change)


def _headers(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield where each header starts, and its keys. Some lines of lists may look like headers."""
    masked = _STRINGS.sub(lambda found: re.sub(r"[^\n]", "x", found[0]) if found["lines"] else found[0], text)
    at = 0
    for line in masked.splitlines(keepends=True):
        if (header := _HEADER.match(line.rstrip("\r\n"))) is not None:
            yield at, _keys(header["keys"])
        at += len(line)


def _keys(header: str) -> tuple[str, ...]:
    try:
        found: object = tomllib.loads(f"[{header}]")
    except tomllib.TOMLDecodeError:
        return ("",)
    keys: list[str] = []
    while isinstance(found, dict) and found:
        key, found = next(iter(cast("dict[str, object]", found).items()))
        keys.append(key)
    return tuple(keys)


def _content_length(section: str) -> int:
    """Return the length of a section without the blank lines and comments at its end."""
    lines = section.splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return sum(map(len, lines))


def _has_effect(text: str, after: str, path: Sequence[str], value: object) -> bool:
    """Return whether the only difference between two texts is the value at `path`."""
    try:
        expected = tomllib.loads(text, parse_float=str)
        found = tomllib.loads(after, parse_float=str)
    except tomllib.TOMLDecodeError:
        return False
    table = _table(expected, path[:-1])
    table.pop(path[-1], None)
    if value is not None:
        table[path[-1]] = value
    elif not table:
        _table(found, path[:-1])
    return found == expected


def _table(document: MutableMapping[str, Any], path: Sequence[str]) -> MutableMapping[str, Any]:
    """Return the table at `path`, and create it if it is missing. Raises `ClientFileError`."""
    for key in path:
        found: Any = table_in(document, key)
        if not isinstance(found, MutableMapping):
            raise ClientFileError(f"`{key}` is not a table")
        document = cast("MutableMapping[str, Any]", found)
    return document


def _changed(text: str, change: Any) -> str:
    if (after := changed(text, [change])) is None:
        raise ClientFileError("it cannot be changed without changing other parts of it")
    return after
