"""What the functions of the language do: Python's own, behind the same look as the operators."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from approved_code.bounds import Meter
from approved_code.faults import fault
from approved_code.values import comparable, has_length, items, kind, number, size

MOST_PLACES = 18
"""To how many places a number is rounded, before and behind the point. Python would go on for ever."""


def call(meter: Meter, name: str, arguments: Sequence[Any], *, reverse: Any = False) -> Any:
    """Return what a function makes of its arguments, whose number was checked."""
    if not isinstance(reverse, bool):
        raise fault("type", f"`reverse` is true or false, not {kind(reverse)}")
    if name == "sorted":
        return sorted(_sortable(meter, arguments[0]), reverse=reverse)
    return meter.number(_FUNCTIONS[name](meter, arguments))


def _sortable(meter: Meter, value: Any) -> Sequence[Any]:
    found = items(meter, value, ordered=False)
    meter.charge(sum(size(each) for each in found) * len(found).bit_length())
    return comparable(found)


def _extreme(choose: Callable[[Sequence[Any]], Any]) -> Callable[[Meter, Sequence[Any]], Any]:
    def chosen(meter: Meter, arguments: Sequence[Any]) -> Any:
        found = items(meter, arguments[0], ordered=False) if len(arguments) == 1 else arguments
        if not found:
            raise fault("type", "there is nothing to choose from", "check with `len(…)` first")
        meter.charge(sum(size(each) for each in found))
        return choose(comparable(found))

    return chosen


def _length(_meter: Meter, arguments: Sequence[Any]) -> int:
    if not has_length(arguments[0]):
        raise fault("type", f"{kind(arguments[0])} has no length")
    return len(arguments[0])


def _rounded(_meter: Meter, arguments: Sequence[Any]) -> Any:
    value, *places = map(number, arguments)
    if not places:
        return round(value)
    if not isinstance(places[0], int) or abs(places[0]) > MOST_PLACES:
        raise fault("number", f"a number is rounded to a whole number of places, at most {MOST_PLACES}")
    try:
        return round(value, places[0])
    except OverflowError as error:
        raise fault("number", "a number is too large to be written down") from error


def _absolute(_meter: Meter, arguments: Sequence[Any]) -> Any:
    return abs(number(arguments[0]))


_FUNCTIONS: Mapping[str, Callable[[Meter, Sequence[Any]], Any]] = {
    "abs": _absolute,
    "all": lambda meter, arguments: all(items(meter, arguments[0], ordered=False)),
    "any": lambda meter, arguments: any(items(meter, arguments[0], ordered=False)),
    "len": _length,
    "max": _extreme(max),
    "min": _extreme(min),
    "round": _rounded,
    "sum": lambda meter, arguments: sum(number(each) for each in items(meter, arguments[0])),
}
