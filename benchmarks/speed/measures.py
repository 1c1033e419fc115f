"""The measurements, one sample per round, and comparisons within each round."""

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.results import Unit

TOO_LONG = math.inf
"""The sample of a measurement that did not finish in time."""


@dataclass(slots=True)
class Measure:
    """One quantity of one program at one size."""

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
        """Return the values for JSON. A sample that did not finish is null."""
        values = asdict(self)
        values["samples"] = [None if math.isinf(sample) else sample for sample in self.samples]
        return values

    @classmethod
    def read(cls, values: dict[str, Any]) -> "Measure":
        samples = [TOO_LONG if sample is None else float(sample) for sample in values["samples"]]
        part, what, contestant = values["part"], values["what"], values["contestant"]
        return cls(part, what, contestant, values["transport"], values["size"], Unit(values["unit"]), samples)


class Measures:
    """All measurements of a run, by quantity, program, transport and size."""

    def __init__(self, known: Iterable[Measure] = ()) -> None:
        self._all = {_key(each): each for each in known}

    def __iter__(self) -> Iterator[Measure]:
        return iter(self._all.values())

    def add(self, of: Measure, sample: float) -> None:
        """Add a sample to the measurement `of`."""
        self._all.setdefault(_key(of), of).samples.append(sample)

    def find(self, what: str, contestant: str, transport: str, size: int) -> Measure | None:
        return self._all.get((what, contestant, transport, size))

    def ratio(self, what: str, one: str, other: str, where: tuple[str, int]) -> float | None:
        """Return the ratio of two programs at a transport and size, compared within each round."""
        first, second = self.find(what, one, *where), self.find(what, other, *where)
        return None if first is None or second is None else paired(first.samples, second.samples)


def paired(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the median of the ratios of each round."""
    if len(other) == 1 and len(one) > 1:
        other = list(other) * len(one)  # what takes too long is measured only once
    if len(one) == 1 and len(other) > 1:
        one = list(one) * len(other)
    return statistics.median(a / b for a, b in zip(one, other, strict=False))


def _key(measure: Measure) -> tuple[str, str, str, int]:
    return measure.what, measure.contestant, measure.transport, measure.size
