"""Values that can be written as JSON, and are small enough for it."""

import re
from typing import Any

from approved_code.bounds import Bounds, Meter
from approved_code.faults import fault
from approved_code.values import holds_items, is_record

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


def plain(value: Any, what: str, bounds: Bounds) -> Any:
    """Return a copy of `value` that is nothing but JSON. Raises `CodeError` if it is more than that."""
    return _Copy(what, bounds).of(value, bounds.nesting)


def check_text(text: str, what: str) -> str:
    if _HALF_CHARACTER.search(text):
        raise fault("text", f"{what} holds half a character", "write whole characters")
    return text


class _Copy:
    def __init__(self, what: str, bounds: Bounds) -> None:
        self._what, self._bounds = what, bounds
        self._left = bounds.result
        self._meter = Meter(bounds)

    def of(self, value: Any, levels: int) -> Any:
        if levels == 0:
            raise fault("result", f"{self._what} is nested more than {self._bounds.nesting} deep")
        self._spend(1)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return self._meter.number(value)
        if isinstance(value, str):
            return self._text(value)
        if holds_items(value):
            return [self.of(item, levels - 1) for item in value]
        if isinstance(value, frozenset):
            raise fault("result", f"{self._what} is a set, which has no order", "write `sorted(…)` around it")
        if not is_record(value):
            raise fault("result", f"{self._what} holds a `{type(value).__name__}`, which is not JSON")
        return {self._key(key): self.of(item, levels - 1) for key, item in value.items()}

    def _key(self, key: Any) -> str:
        if not isinstance(key, str):
            raise fault("result", f"{self._what} has a key that is not text")
        return self._text(key)

    def _text(self, text: str) -> str:
        self._spend(len(text))
        return check_text(text, self._what)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            most = f"{self._bounds.result:,} values and characters"
            raise fault("result", f"{self._what} has more than {most}", "ask for fewer records or fields")
