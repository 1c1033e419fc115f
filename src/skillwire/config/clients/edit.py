"""`ClientDocument`: the content of a client's file, and a changed copy that differs in one entry alone."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, cast

import yaml

from skillwire.config.clients import edit_json, edit_toml, edit_yaml
from skillwire.config.clients.files import ClientFile, ClientFileError, Format, as_object

_EDITORS: Mapping[Format, ModuleType] = {
    Format.JSON: edit_json,
    Format.TOML: edit_toml,
    Format.YAML: edit_yaml,
}
_BOM = b"\xef\xbb\xbf"
_OTHER_PARTS = "it cannot be changed without changing other parts of it"
_MAX_DEPTH = 100
_MAX_VALUES = 2_000_000
_MAX_SLOW_BYTES = 1024 * 1024
"""Maximum size in bytes of a TOML or YAML file that is changed. Their parsers are slow."""


@dataclass(frozen=True)
class ClientDocument:
    """The bytes of a client's file. A file that does not exist has none."""

    file: ClientFile
    content: bytes

    @classmethod
    def read(cls, file: ClientFile, content: bytes) -> "ClientDocument":
        """Return the document. Raises `ClientFileError` if the content is invalid or too large."""
        if file.format is not Format.JSON and len(content) > _MAX_SLOW_BYTES:
            raise ClientFileError(f"it has more than {_MAX_SLOW_BYTES:,} bytes")
        document = cls(file, content)
        _check_bounds(document.values)
        return document

    @cached_property
    def values(self) -> Mapping[str, object]:
        return self.file.parse(self.content)

    @cached_property
    def text(self) -> str:
        return self.content.decode("utf-8-sig")

    def entry(self, path: Sequence[str]) -> object:
        """Return the value at `path`, or None if it is missing."""
        found: object = self.values
        for key in path:
            found = as_object(found).get(key)
        return found

    def missing_parents(self, path: Sequence[str]) -> int:
        """Return how many of the objects around the value at `path` are missing."""
        found, depth = self.values, 0
        while depth < len(path) - 1 and path[depth] in found:
            found, depth = as_object(found[path[depth]]), depth + 1
        return len(path) - 1 - depth

    def span(self, path: Sequence[str]) -> tuple[int, int] | None:
        """Return where the entry at `path` is in the text, or None if that is not known."""
        if not self.text.strip():
            return None
        found: tuple[int, int] | None = _EDITORS[self.file.format].span(self.text, path)
        return found

    def with_entry(self, path: Sequence[str], value: object) -> "ClientDocument":
        """Return the document with `value` at `path`. Raises `ClientFileError`."""
        expected = _copied(self.values)
        _object_at(expected, path[:-1])[path[-1]] = value
        return self._changed(lambda text: _EDITORS[self.file.format].put(text, path, value), [expected])

    def without_entry(self, path: Sequence[str], prune: int = 0) -> "ClientDocument":
        """Return the document without the entry at `path`. Raises `ClientFileError`.

        Also remove up to `prune` objects around it if they have become empty.
        """
        if self.entry(path) is None:
            return self
        expected = _copied(self.values)
        _object_at(expected, path[:-1]).pop(path[-1])
        allowed: list[Mapping[str, object]] = [copy.deepcopy(expected)]
        for depth in range(len(path) - 1, 0, -1):  # a TOML table without content may have no header
            parent = _object_at(expected, path[: depth - 1])
            if parent[path[depth - 1]]:
                break
            del parent[path[depth - 1]]
            allowed.append(copy.deepcopy(expected))
        return self._changed(lambda text: _EDITORS[self.file.format].remove(text, path, prune), allowed)

    def _changed(self, edit: Callable[[str], str], allowed: Sequence[object]) -> "ClientDocument":
        """Return the document after an edit. Raises `ClientFileError` if its values are not as expected."""
        try:
            text = edit(self.text)
        except (yaml.YAMLError, ValueError, LookupError) as error:
            raise ClientFileError(_OTHER_PARTS) from error
        after = ClientDocument(self.file, (_BOM if self.content.startswith(_BOM) else b"") + text.encode())
        try:
            if any(_same(after.values, each) for each in allowed):
                return after
        except ClientFileError:
            pass
        raise ClientFileError(_OTHER_PARTS)


def _check_bounds(values: object) -> None:
    """Raise `ClientFileError` if values are nested too deeply, or YAML aliases multiply them."""
    level, seen = [values], 0
    for _ in range(_MAX_DEPTH):
        inner: list[object] = []
        for each in level:
            seen += 1
            if isinstance(each, dict):
                inner += cast("dict[object, object]", each).values()
            elif isinstance(each, list):
                inner += cast("list[object]", each)
            if seen + len(inner) > _MAX_VALUES:
                raise ClientFileError(f"it contains more than {_MAX_VALUES:,} values")
        if not inner:
            return
        level = inner
    raise ClientFileError("it is nested too deeply")


def _copied(values: Mapping[str, object]) -> dict[str, object]:
    return copy.deepcopy({**values})


def _object_at(document: dict[str, object], path: Sequence[str]) -> dict[str, object]:
    """Return the object at `path`, and create it if it is missing. Raises `ClientFileError`."""
    for key in path:
        if document.get(key) is None:
            document[key] = {}
        found = document[key]
        if not isinstance(found, dict):
            raise ClientFileError(f"`{key}` is not an object")
        document = cast("dict[str, object]", found)
    return document


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are equal and of the same types. Not a number is equal to itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        fields = cast("dict[object, object]", one)
        return fields.keys() == other.keys() and all(_same(fields[key], other[key]) for key in fields)
    if isinstance(one, list):
        items = cast("list[object]", one)
        return len(items) == len(other) and all(map(_same, items, other))
    return bool(one == other) or repr(one) == repr(other) == "nan"
