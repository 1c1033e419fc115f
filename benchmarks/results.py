"""Measurements as values: the samples at each size, and how they grow."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from benchmarks.costs import Cost

Samples: TypeAlias = Mapping[int, Sequence[float]]
"""For each size, one sample per round. Equal indexes belong to the same round."""


class Unit(StrEnum):
    """The unit of a figure."""

    SECONDS = "seconds"
    BYTES = "bytes"
    RATIO = "ratio"
    COUNT = "count"


class Growth(StrEnum):
    """How a figure should grow with the number of skills."""

    LINEAR = "linear"
    CONSTANT = "constant"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity, measured at every size."""

    name: str
    clock: str
    """`wall` or `cpu`; empty if the quantity is not a time."""
    unit: Unit
    growth: Growth
    samples: Samples

    @property
    def sizes(self) -> list[int]:
        return sorted(self.samples)

    @property
    def medians(self) -> dict[int, float]:
        return {size: statistics.median(self.samples[size]) for size in self.sizes}

    @property
    def trend(self) -> float | None:
        """The growth relative to the expected one, compared within each round. 1.0 is as expected.

        Linear: the ratio of the two largest sizes' figures, divided by the ratio of the sizes. A constant
        part makes it smaller than 1.0. Constant: the ratio of the largest to the smallest size's figures.
        """
        if self.growth is Growth.NONE or len(self.sizes) < 2:
            return None
        large = self.sizes[-1]
        small = self.sizes[-2] if self.growth is Growth.LINEAR else self.sizes[0]
        expected = large / small if self.growth is Growth.LINEAR else 1.0
        return statistics.median(_pairwise(self.samples[large], self.samples[small])) / expected

    @property
    def per_skill(self) -> float | None:
        """The cost of each further skill between the two largest sizes."""
        if self.growth is not Growth.LINEAR or len(self.sizes) < 2:
            return None
        small, large = self.sizes[-2:]
        return (self.medians[large] - self.medians[small]) / (large - small)

    def as_dict(self) -> dict[str, object]:
        """Return the values for JSON."""
        return {
            "name": self.name,
            "clock": self.clock,
            "unit": self.unit,
            "growth": self.growth,
            "trend": self.trend,
            "per_skill": self.per_skill,
            "medians": self.medians,
            "samples": self.samples,
        }


@dataclass(slots=True)
class Table:
    """Collected costs, by size."""

    wall: dict[int, list[float]] = field(default_factory=dict[int, list[float]])
    cpu: dict[int, list[float]] = field(default_factory=dict[int, list[float]])

    def add(self, size: int, cost: Cost) -> None:
        self.add_one(size, cost.wall)
        self.cpu.setdefault(size, []).append(cost.cpu)

    def add_one(self, size: int, figure: float) -> None:
        """Add a figure without a CPU time."""
        self.wall.setdefault(size, []).append(figure)


def series_of(name: str, table: Table, growth: Growth) -> list[Series]:
    """Return the two series of a table, one for each clock."""
    return [
        Series(name, "wall", Unit.SECONDS, growth, table.wall),
        Series(name, "cpu", Unit.SECONDS, growth, table.cpu),
    ]


def ratio(one: Samples, other: Samples) -> Samples:
    """Return one series as a multiple of another, compared within each round."""
    return {size: list(_pairwise(one[size], other[size])) for size in one}


def _pairwise(one: Sequence[float], other: Sequence[float]) -> Iterable[float]:
    return (a / b for a, b in zip(one, other, strict=True))
