"""What operators and brackets do: Python's own, behind a look at what they are given and what it costs."""

import ast
from collections.abc import Sequence
from typing import Any

from approved_code.bounds import Meter
from approved_code.faults import fault
from approved_code.grammar import ARITHMETIC, EQUALITY, ORDER, SIGNS
from approved_code.values import (
    comparable,
    holds_items,
    is_record,
    is_set,
    items,
    kind,
    number,
    shown,
    single,
    size,
)

MOST_FIELDS = 10
"""How many fields an error names."""


def arithmetic(meter: Meter, operator: ast.operator, left: Any, right: Any) -> Any:
    """Return what an operator makes of two values."""
    if (
        isinstance(operator, ast.Add)
        and type(left) is type(right)
        and (isinstance(left, str) or holds_items(left))
    ):
        meter.charge(len(left) + len(right))
        return left + right
    try:
        return meter.number(ARITHMETIC[type(operator)](number(left), number(right)))
    except ZeroDivisionError as error:
        raise fault("number", "a number is divided by zero", "check for zero with `… if … else …`") from error
    except OverflowError as error:
        raise fault("number", "a number is too large to be written down") from error


def sign(meter: Meter, operator: ast.unaryop, value: Any) -> Any:
    return meter.number(SIGNS[type(operator)](value if isinstance(operator, ast.Not) else number(value)))


def compare(meter: Meter, operator: ast.cmpop, left: Any, right: Any) -> bool:
    """Return whether two values are to each other as an operator says."""
    if isinstance(operator, ast.In | ast.NotIn):
        return _is_in(meter, left, right) is isinstance(operator, ast.In)
    meter.charge(size(single(left)) + size(single(right)))
    if equal := EQUALITY.get(type(operator)):
        return equal(left, right)
    comparable([left, right])
    return ORDER[type(operator)](left, right)


def _is_in(meter: Meter, value: Any, container: Any) -> bool:
    meter.charge(size(single(value)))
    if is_record(container) or is_set(container):
        return value in container
    if isinstance(container, str):
        if not isinstance(value, str):
            raise fault("type", f"{kind(value)} is never part of a text", "look for text")
        meter.charge(len(container))
        return value in container
    within = items(meter, container)
    meter.charge(sum(size(single(each)) for each in within))
    return value in within


def item(meter: Meter, value: Any, key: Any) -> Any:
    """Return one item of a list, one character of a text, or one field of a record."""
    meter.charge(size(single(key)))
    try:
        if is_record(value) or ((isinstance(value, str) or holds_items(value)) and isinstance(key, int)):
            return value[key]
    except KeyError as error:
        fields = ", ".join(shown(each) for each in list(value)[:MOST_FIELDS])
        raise fault("field", f"a record has no field {shown(key)}", f"it has {fields}") from error
    except IndexError as error:
        raise fault("field", f"there is no item {shown(key)}", "check with `len(…)` first") from error
    raise fault("type", f"{kind(value)} has no item {shown(key)}")


def part(meter: Meter, value: Any, first: Any, last: Any) -> Any:
    """Return what stands in a list or a text from `first` on, up to and without `last`."""
    if not isinstance(value, str) and not holds_items(value):
        raise fault("type", f"{kind(value)} has no parts", "cut a list or a text")
    if not all(each is None or isinstance(each, int) for each in (first, last)):
        raise fault("type", "a slice goes from one whole number to another")
    cut = value[first:last]
    meter.charge(len(cut))
    return cut


def as_set(meter: Meter, values: Sequence[Any]) -> frozenset[Any]:
    meter.charge(sum(size(single(each)) for each in values))
    return frozenset(values)


def key(meter: Meter, value: Any) -> str:
    """Return what a record may call a field."""
    if not isinstance(value, str):
        raise fault("type", f"{kind(value)} cannot be a key", "use text")
    meter.charge(size(value))
    return value
