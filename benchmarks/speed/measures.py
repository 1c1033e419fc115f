"""What was measured, one figure a round, and how contestants compare within each round."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.results import Unit

TOO_LONG = math.inf
"""What did not finish within its time."""


@dataclass(slots=True)
class Measure:
    """One thing of one contestant, at one size."""

    part: str
    what: str
    contestant: str
    transport: str
    size: int
    unit: Unit
    samples: list[float] = field(default_factory=list[float])

    @property
    def median(self) -> float:
        return statistics.median(self.samples) if self.samples else math.nan

    def as_dict(self) -> dict[str, Any]:
        """Return all there is to tell, for JSON: what did not finish is null."""
        told = asdict(self)
        told["samples"] = [None if math.isinf(sample) else sample for sample in self.samples]
        return told

    @classmethod
    def read(cls, told: dict[str, Any]) -> "Measure":
        samples = [TOO_LONG if sample is None else float(sample) for sample in told["samples"]]
        part, what, contestant = told["part"], told["what"], told["contestant"]
        return cls(part, what, contestant, told["transport"], told["size"], Unit(told["unit"]), samples)


class Measures:
    """All of a run, found by what they are of."""

    def __init__(self, known: Iterable[Measure] = ()) -> None:
        self._all = {_key(each): each for each in known}

    def __iter__(self) -> Iterator[Measure]:
        return iter(self._all.values())

    def add(self, of: Measure, sample: float) -> None:
        """Add a figure to those of the same thing."""
        self._all.setdefault(_key(of), of).samples.append(sample)

    def find(self, what: str, contestant: str, transport: str, size: int) -> Measure | None:
        return self._all.get((what, contestant, transport, size))

    def ratio(self, what: str, one: str, other: str, where: tuple[str, int]) -> float | None:
        """Return one contestant as a multiple of another, by transport and size, within each round."""
        first, second = self.find(what, one, *where), self.find(what, other, *where)
        return None if first is None or second is None else paired(first.samples, second.samples)


def paired(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the median of what one is as a multiple of the other, round by round."""
    if len(other) == 1 and len(one) > 1:
        other = list(other) * len(one)  # what takes too long is measured once
    if len(one) == 1 and len(other) > 1:
        one = list(one) * len(other)
    return statistics.median(a / b for a, b in zip(one, other, strict=False))


def _key(measure: Measure) -> tuple[str, str, str, int]:
    return measure.what, measure.contestant, measure.transport, measure.size
