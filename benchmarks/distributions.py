"""Measurements of which the worst matters as much as the middle."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from benchmarks.results import Unit
from benchmarks.tables import figure, row

Samples: TypeAlias = Mapping[int, Sequence[float]]
"""For each size, everything that was measured. What did not finish is infinite."""

_KEPT = 100
"""More samples than this are kept as their statistics alone."""


class Statistic(StrEnum):
    """How many figures become one."""

    MEDIAN = "median"
    P99 = "p99"
    WORST = "worst"
    RANGE = "range"


@dataclass(frozen=True, slots=True)
class Distribution:
    """One thing, measured often at every size."""

    name: str
    unit: Unit
    samples: Samples
    shown: tuple[Statistic, ...] = (Statistic.MEDIAN, Statistic.WORST)
    expected: float | None = None
    """What each sample should be, where that is known."""

    @property
    def sizes(self) -> list[int]:
        return sorted(self.samples)

    def cell(self, statistic: Statistic, size: int) -> str:
        """Return what stands in a table; nothing for a size that was not measured."""
        if not (found := self.samples.get(size)):
            return ""
        if statistic is Statistic.RANGE:
            return " to ".join(figure(value, self.unit) for value in sorted({min(found), max(found)}))
        return figure(_statistics(found)[statistic], self.unit)

    def as_dict(self) -> dict[str, object]:
        """Return all that there is to tell, for JSON: what did not finish is null."""
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
        # The nearest rank: a figure that was measured, not one between two.
        Statistic.P99: ordered[math.ceil(len(ordered) * 0.99) - 1],
        Statistic.WORST: ordered[-1],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def distribution_rows(chosen: Sequence[Distribution]) -> Iterable[str]:
    """Yield the lines of a table: a row for each statistic of each, a column for each size."""
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
