"""Rates and their intervals, checked against published values."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.evals.statistics import PairedDifference, Rate

COUNTS = st.integers(0, 60)


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    # Newcombe (1998), "Two-sided confidence intervals for the single proportion", method 3, table I.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_intervals_have_their_published_values(
    successes: int, total: int, low: float, high: float
) -> None:
    interval = Rate(successes, total).interval
    assert interval is not None
    assert interval == pytest.approx((low, high), abs=0.00005)


@pytest.mark.parametrize(
    ("counts", "value", "low", "high", "digits"),
    [
        # Newcombe (1998), "Improved confidence intervals … based on paired data", method 10.
        ((36, 2, 12, 0), 0.2, 0.0569, 0.3404, 0.0001),
        # Altman and others (2000), "Statistics with confidence", table 6.2, with two digits less.
        ((14, 0, 5, 22), 0.122, 0.011, 0.226, 0.001),
    ],
)
def test_paired_differences_have_their_published_values(
    counts: tuple[int, int, int, int], value: float, low: float, high: float, digits: float
) -> None:
    both, only_before, only_after, neither = counts
    found = PairedDifference(both, only_before, only_after, neither)
    assert found.value == pytest.approx(value, abs=0.001)
    assert found.interval == pytest.approx((low, high), abs=digits)


@given(COUNTS, COUNTS)
def test_an_interval_contains_its_rate_and_stays_in_range(one: int, other: int) -> None:
    rate = Rate(one, one + other)
    if rate.value is None or rate.interval is None:
        assert one + other == 0
        return
    low, high = rate.interval
    assert 0 <= low <= rate.value <= high <= 1
    assert low < high


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_exchanging_before_and_after_mirrors_the_difference(a: int, b: int, c: int, d: int) -> None:
    found, other = PairedDifference(a, b, c, d), PairedDifference(a, c, b, d)
    if found.interval is None or other.interval is None or found.value is None:
        assert a + b + c + d == 0
        return
    assert other.value == -found.value
    assert other.interval == pytest.approx((-found.interval[1], -found.interval[0]))
    assert -1 <= found.interval[0] <= found.value <= found.interval[1] <= 1


def test_about_95_percent_of_wilson_intervals_contain_the_truth() -> None:
    source, truth, runs = random.Random(7), 0.7, 2_000
    hits = 0
    for _ in range(runs):
        interval = Rate(sum(source.random() < truth for _ in range(40)), 40).interval
        assert interval is not None
        hits += interval[0] <= truth <= interval[1]
    assert 0.93 < hits / runs < 0.97


@pytest.mark.parametrize(("successes", "total"), [(2, 1), (-1, 3), (0, -1)])
def test_an_impossible_rate_is_refused(successes: int, total: int) -> None:
    with pytest.raises(ValueError, match="is not a rate"):
        Rate(successes, total)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        PairedDifference(1, -1)
