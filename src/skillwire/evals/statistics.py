"""Rates with their intervals. No function depends on the order or the labels of the cases."""

from dataclasses import dataclass
from math import sqrt
from typing import TypeAlias

Interval: TypeAlias = tuple[float, float]
_Z = 1.959963984540054
"""The quantile of the normal distribution for intervals of 95 %."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of successes among independent cases."""

    successes: int
    total: int

    def __post_init__(self) -> None:
        if not 0 <= self.successes <= self.total:
            raise ValueError(f"{self.successes} of {self.total} is not a rate")

    @property
    def value(self) -> float | None:
        """The share of successes, from 0 to 1; None without cases."""
        return self.successes / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        """The Wilson score interval of 95 %, without continuity correction; None without cases."""
        if not self.total:
            return None
        n, p, square = self.total, self.successes / self.total, _Z * _Z
        middle = p + square / (2 * n)
        half = _Z * sqrt(p * (1 - p) / n + square / (4 * n * n))
        scale = 1 + square / n
        low = 0.0 if self.successes == 0 else (middle - half) / scale
        high = 1.0 if self.successes == n else (middle + half) / scale
        return low, high


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The same cases before and after a change, counted by whether each succeeds."""

    both: int = 0
    only_before: int = 0
    only_after: int = 0
    neither: int = 0

    def __post_init__(self) -> None:
        if min(self.both, self.only_before, self.only_after, self.neither) < 0:
            raise ValueError("a count is negative")

    @property
    def total(self) -> int:
        return self.both + self.only_before + self.only_after + self.neither

    @property
    def before(self) -> Rate:
        return Rate(self.both + self.only_before, self.total)

    @property
    def after(self) -> Rate:
        return Rate(self.both + self.only_after, self.total)

    @property
    def value(self) -> float | None:
        """The rate after the change, minus the rate before it; None without cases."""
        return (self.only_after - self.only_before) / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        """The interval of 95 % for the difference; None without cases.

        Method 10 of Newcombe (1998), "Improved confidence intervals for the difference between binomial
        proportions based on paired data": the Wilson intervals of both rates, and their correlation.
        """
        before, after, value = self.before.interval, self.after.interval, self.value
        if before is None or after is None or value is None:
            return None
        first, second = self.after.successes / self.total, self.before.successes / self.total
        down, up = first - after[0], after[1] - first
        other_down, other_up = second - before[0], before[1] - second
        phi = self._correlation()
        low = sqrt(max(down**2 - 2 * phi * down * other_up + other_up**2, 0))
        high = sqrt(max(up**2 - 2 * phi * up * other_down + other_down**2, 0))
        return max(value - low, -1.0), min(value + high, 1.0)

    def _correlation(self) -> float:
        """Return the correlation of both outcomes, with Newcombe's correction if it is positive."""
        a, b, c, d, n = self.both, self.only_after, self.only_before, self.neither, self.total
        margins = (a + b) * (c + d) * (a + c) * (b + d)
        if not margins:
            return 0.0
        product = a * d - b * c
        if product > 0:
            product = max(product - n / 2, 0)
        return product / sqrt(margins)
