"""Measurements as values: what was measured at each size, and how it grows."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from benchmarks.costs import Cost

Samples: TypeAlias = Mapping[int, Sequence[float]]
"""For each size, one figure a round. Figures at the same place were taken in the same round."""


class Unit(StrEnum):
    """What a figure counts."""

    SECONDS = "seconds"
    BYTES = "bytes"
    RATIO = "ratio"
    COUNT = "count"


class Growth(StrEnum):
    """What is expected of a figure as the number of skills grows."""

    LINEAR = "linear"
    CONSTANT = "constant"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Series:
    """One thing, measured at every size."""

    name: str
    clock: str
    """`wall` or `cpu`; empty where no time is measured."""
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
        """How it grows, compared within each round; 1.0 is what was expected.

        Linear: the largest size against the one before, divided by how many times larger it is. A part that
        does not depend on the size pulls it below 1.0. Constant: the largest size against the smallest.
        """
        if self.growth is Growth.NONE or len(self.sizes) < 2:
            return None
        large = self.sizes[-1]
        small = self.sizes[-2] if self.growth is Growth.LINEAR else self.sizes[0]
        expected = large / small if self.growth is Growth.LINEAR else 1.0
        return statistics.median(_pairwise(self.samples[large], self.samples[small])) / expected

    @property
    def per_skill(self) -> float | None:
        """What each further skill adds, between the two largest sizes."""
        if self.growth is not Growth.LINEAR or len(self.sizes) < 2:
            return None
        small, large = self.sizes[-2:]
        return (self.medians[large] - self.medians[small]) / (large - small)

    def as_dict(self) -> dict[str, object]:
        """Return all that there is to tell, for JSON."""
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
    """Costs as they come in, by size."""

    wall: dict[int, list[float]] = field(default_factory=dict[int, list[float]])
    cpu: dict[int, list[float]] = field(default_factory=dict[int, list[float]])

    def add(self, size: int, cost: Cost) -> None:
        self.add_one(size, cost.wall)
        self.cpu.setdefault(size, []).append(cost.cpu)

    def add_one(self, size: int, figure: float) -> None:
        """Add a figure that has no CPU time beside it."""
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
