"""Read untrusted JSON field by field, with errors that name the field. Check its nesting and size."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, cast

import orjson

from skillwire.core.record import Json
from skillwire.errors import SkillwireError
from skillwire.safe_text import quoted

MAX_DEPTH = 100
TOO_DEEP = f"nested more than {MAX_DEPTH} deep"


_Container: TypeAlias = dict[str, Json] | list[Json]
_T = TypeVar("_T")
_SAFE_INTEGER = 2**53 - 1
"""The largest integer that every JSON parser represents exactly."""


def too_deep(value: object, limit: int = MAX_DEPTH) -> bool:
    """Return whether objects and lists are nested more than `limit` levels deep."""
    level = [cast("_Container", value)] if isinstance(value, (dict, list)) else []
    for _ in range(limit):
        if not level:
            return False
        level = [inner for each in level for inner in _values(each) if isinstance(inner, (dict, list))]
    return bool(level)


def _values(container: _Container) -> list[Json]:
    return container if isinstance(container, list) else list(container.values())


class ShapeError(SkillwireError):
    """A JSON value does not have the required shape."""


@dataclass(frozen=True, slots=True)
class JsonFields:
    """A JSON object, and its path in the message, which errors contain.

    A method that reads a field raises `ShapeError` if the value does not have the required shape.
    """

    values: Mapping[str, Json]
    where: str = ""

    @classmethod
    def of(cls, value: object, where: str = "") -> "JsonFields":
        """Wrap `value`. Raises `ShapeError` if it is not an object."""
        if not isinstance(value, dict):
            raise ShapeError(f"{where or 'the message'}: not an object")
        return cls(cast("dict[str, Json]", value), where)

    def text(self, name: str) -> str:
        """Return a required text that is not empty."""
        found = self.values.get(name)
        if not isinstance(found, str) or not found:
            raise self.fault(name, "must be text that is not empty")
        return found

    def text_or_none(self, name: str) -> str | None:
        found = self.values.get(name)
        if found is not None and not isinstance(found, str):
            raise self.fault(name, "must be text")
        return found

    def choice(self, name: str, allowed: Collection[str]) -> str:
        """Return one of the `allowed` words."""
        found = self.values.get(name)
        if not isinstance(found, str) or found not in allowed:
            shown = f", not {quoted(found)}" if isinstance(found, str) else ""
            raise self.fault(name, f"must be one of {', '.join(f'`{each}`' for each in allowed)}{shown}")
        return found

    def flag(self, name: str) -> bool:
        found = self.values.get(name)
        if not isinstance(found, bool):
            raise self.fault(name, "must be true or false")
        return found

    def number(self, name: str) -> int | float:
        found = self.values.get(name)
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            raise self.fault(name, "must be a number")
        return found

    def positive_or_none(self, name: str) -> int | None:
        found = self.values.get(name)
        if found is None:
            return None
        if isinstance(found, float) and found.is_integer():  # JSON has one kind of number
            found = int(found)
        if isinstance(found, bool) or not isinstance(found, int) or not 0 < found <= _SAFE_INTEGER:
            raise self.fault(name, "must be a whole number above zero")
        return found

    def require_max_size(self, name: str, limit: int) -> None:
        """Raise `ShapeError` if a field has more than `limit` bytes as JSON."""
        if (size := json_size(self.values.get(name))) > limit:
            raise self.fault(name, f"has {size:,} bytes; the limit is {limit:,}")

    def mapping_or_none(self, name: str) -> dict[str, Json] | None:
        found = self.values.get(name)
        if found is not None and not isinstance(found, dict):
            raise self.fault(name, "must be an object")
        return found

    def texts_or_none(self, name: str) -> dict[str, str] | None:
        """Return an object in which all values are text, or None if the field is missing or null."""
        found = self.mapping_or_none(name)
        if found is None:
            return None
        wrong = next((key for key, value in found.items() if not isinstance(value, str)), None)
        if wrong is not None:
            raise self.fault(f"{name}.{wrong}", "must be text")
        return cast("dict[str, str]", found)

    def part(self, name: str) -> "JsonFields":
        """Return a required object."""
        return JsonFields.of(self.values.get(name), self.place(name))

    def part_or_none(self, name: str) -> "JsonFields | None":
        return None if self.values.get(name) is None else self.part(name)

    def items(self, name: str, limit: int) -> list[Json]:
        """Return a required list of at most `limit` items."""
        found = self.values.get(name)
        if not isinstance(found, list):
            raise self.fault(name, "must be a list")
        if len(found) > limit:
            raise self.fault(name, f"has {len(found):,} items; the limit is {limit:,}")
        return found

    def parts(self, name: str, limit: int) -> "Iterator[JsonFields]":
        """Yield the objects in a list of at most `limit` items."""
        for position, item in enumerate(self.items(name, limit)):
            yield JsonFields.of(item, f"{self.place(name)}[{position}]")

    def parsed(self, name: str, parse: Callable[[str], _T]) -> _T:
        """Return a text parsed by `parse`. Converts a `ValueError` to a `ShapeError` that names the field."""
        try:
            return parse(self.text(name))
        except ValueError as error:
            raise ShapeError(f"{self.place(name)}: {error}") from error

    def reject_unknown(self, known: Collection[str]) -> None:
        """Raise `ShapeError` if the object has a field that is not in `known`, such as a misspelled one."""
        unknown = next((each for each in self.values if each not in known), None)
        if unknown is not None:
            names = ", ".join(f"`{each}`" for each in known)
            raise ShapeError(f"{self.where or 'the arguments'}: unknown field {quoted(unknown)}; use {names}")

    def fault(self, name: str, what: str) -> ShapeError:
        return ShapeError(f"{self.place(name)}: {what}")

    def place(self, name: str) -> str:
        """Return the path of a field in the message, for errors."""
        return f"{self.where}.{name}" if self.where else name


def compact_json(value: dict[str, Json]) -> bytes:
    """Return an object as JSON for storage.

    The result is copied, because the encoder allocates a spare kilobyte.
    """
    return bytes(memoryview(orjson.dumps(value))) if value else b"{}"


def json_size(value: Json) -> int:
    """Return the size of a value as JSON, in bytes. Raises `ShapeError` if it cannot be encoded."""
    try:
        return len(orjson.dumps(value))
    except TypeError as error:
        raise ShapeError(f"it cannot be sent as JSON: {error}") from error
