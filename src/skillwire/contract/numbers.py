"""The rule for numbers in the block: one that loses digits on its way to a client is refused."""

from collections.abc import Callable, Iterable, Iterator

from skillwire.contract.subject import Fault, Subject
from skillwire.model.entry import Json
from skillwire.model.problem import Rule
from skillwire.skillmd.places import Way

_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


def number_size(subject: Subject) -> Iterator[Fault]:
    for name, value in subject.block.items():
        for way in _too_large(value, subject.way(name)) if name != "version" else ():
            message = "the number has more than 64 bits, and would lose its last digits"
            yield Fault(way, Rule.CONTRACT_NUMBER_SIZE, message, "put it in quotes, as text")


CHECKS: tuple[Callable[[Subject], Iterable[Fault]], ...] = (number_size,)


def _too_large(value: Json, way: Way) -> Iterator[Way]:
    """Yield the way to each number that is too large; the reader has made a float of it."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _too_large(item, (*way, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _too_large(item, (*way, at))
    elif isinstance(value, (int, float)) and not _SMALLEST <= value <= _LARGEST:
        yield way
