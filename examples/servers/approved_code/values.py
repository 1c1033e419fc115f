"""The values of the language: JSON, tuples, and sets of single values."""

from collections.abc import Sequence
from typing import Any

from approved_code.bounds import Meter
from approved_code.faults import fault

SHOWN = 40
"""Characters of a value that an error shows."""


def holds_items(value: Any) -> bool:
    return isinstance(value, list | tuple)


def is_record(value: Any) -> bool:
    return isinstance(value, dict)


def is_set(value: Any) -> bool:
    return isinstance(value, frozenset)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def has_length(value: Any) -> bool:
    return isinstance(value, str | list | tuple | dict | frozenset)


def kind(value: Any) -> str:
    """Return what a value is, in a word."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return "text"
    if is_set(value):
        return "a set"
    if is_number(value):
        return "a number"
    return "a record" if is_record(value) else "a list"


def shown(value: Any) -> str:
    """Return a single value as code has it, but never long."""
    text = repr(value)
    return f"`{text}`" if len(text) <= SHOWN else f"`{text[:SHOWN]}…`"


def size(value: Any) -> int:
    """Return what it costs to look at a single value."""
    return len(value) if isinstance(value, str) else 1


def single(value: Any) -> Any:
    """Return a value that is not made of others.

    Only those are compared. Two nested lists may share their parts, and then comparing them can take far
    longer than it took to make them.
    """
    if has_length(value) and not isinstance(value, str):
        raise fault("type", f"{kind(value)} cannot be compared", "compare single values")
    return value


def number(value: Any) -> Any:
    if not is_number(value):
        raise fault("type", f"{kind(value)} is nothing to calculate with", "calculate with numbers")
    return value


def comparable(values: Sequence[Any]) -> Sequence[Any]:
    """Return values that have an order: numbers, or texts."""
    if all(is_number(each) for each in values) or all(isinstance(each, str) for each in values):
        return values
    kinds = " and ".join(sorted({kind(each) for each in values}))
    raise fault("type", f"{kinds} cannot be put in order", "compare numbers, or texts")


def items(meter: Meter, value: Any, *, ordered: bool = True) -> list[Any]:
    """Return what a loop or a function goes through. Of a set, only where its order does not matter."""
    if ordered and is_set(value):
        raise fault("type", "a set has no order", "write `sorted(…)` around it")
    if not has_length(value):
        raise fault("type", f"{kind(value)} has no items", "go through a list")
    meter.charge(len(value))
    return list(value)
