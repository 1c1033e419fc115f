"""Measurements whose worst case matters as much as the median."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from benchmarks.results import Unit
from benchmarks.tables import figure, row

Samples: TypeAlias = Mapping[int, Sequence[float]]
"""All samples of each size. A sample that did not finish is infinite."""

_KEPT = 100
"""With more samples than this, only their statistics are written."""


class Statistic(StrEnum):
    """How samples are summarised."""

    MEDIAN = "median"
    P99 = "p99"
    WORST = "worst"
    RANGE = "range"


@dataclass(frozen=True, slots=True)
class Distribution:
    """One quantity with many samples at every size."""

    name: str
    unit: Unit
    samples: Samples
    shown: tuple[Statistic, ...] = (Statistic.MEDIAN, Statistic.WORST)
    expected: float | None = None
    """The correct value of every sample, if it is known."""

    @property
    def sizes(self) -> list[int]:
        return sorted(self.samples)

    def cell(self, statistic: Statistic, size: int) -> str:
        """Return the text of a table cell, empty for a size that was not measured."""
        if not (found := self.samples.get(size)):
            return ""
        if statistic is Statistic.RANGE:
            return " to ".join(figure(value, self.unit) for value in sorted({min(found), max(found)}))
        return figure(_statistics(found)[statistic], self.unit)

    def as_dict(self) -> dict[str, object]:
        """Return the values for JSON. A sample that did not finish is null."""
        return {
            "name": self.name,
            "unit": self.unit,
            "expected": self.expected,
            "statistics": {
                size: {"count": len(found)} | {name: _finite(v) for name, v in _statistics(found).items()}
                for size, found in self.samples.items()
            },
            "samples": {
                size: [_finite(value) for value in found] if len(found) <= _KEPT else None
                for size, found in self.samples.items()
            },
        }


def _statistics(found: Sequence[float]) -> dict[Statistic, float]:
    ordered = sorted(found)
    return {
        Statistic.MEDIAN: statistics.median(ordered),
        # Nearest rank: always a measured value, never an interpolated one.
        Statistic.P99: ordered[math.ceil(len(ordered) * 0.99) - 1],
        Statistic.WORST: ordered[-1],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def distribution_rows(chosen: Sequence[Distribution]) -> Iterable[str]:
    """Yield the lines of a table: a row for each statistic of each distribution, a column for each size."""
    sizes = sorted({size for each in chosen for size in each.sizes})
    expecting = ["expected"] if any(each.expected is not None for each in chosen) else []
    yield row(["", "", *(f"{size:,}" for size in sizes), *expecting])
    yield row(["---", "---", *["---:"] * (len(sizes) + len(expecting))])
    for each in chosen:
        expected = [] if each.expected is None else [figure(each.expected, each.unit)]
        for statistic in each.shown:
            cells = [each.cell(statistic, size) for size in sizes]
            yield row([each.name, statistic, *cells, *expected])
    yield ""
