"""How much somebody's answer brings, before anything of it is kept (H25)."""

from typing import cast

_EACH, _CONTAINER = 8, 56
"""Bytes for a value, whatever it is, and more for one that holds others: nothing is free."""


def weight(value: object, most: int) -> int:
    """Return about how many bytes a value of JSON has; once that is more than `most`, counting ends."""
    total, left = 0, [value]
    while left and total <= most:
        each = left.pop()
        total += _EACH
        if isinstance(each, str):
            total += len(each)
        elif isinstance(each, dict):
            total += _CONTAINER
            left.extend(cast("dict[object, object]", each).keys())
            left.extend(cast("dict[object, object]", each).values())
        elif isinstance(each, list):
            total += _CONTAINER
            left.extend(cast("list[object]", each))
    return total
