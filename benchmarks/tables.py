"""Figures as Markdown tables."""

import math
from collections.abc import Callable, Iterable, Sequence

from benchmarks.results import Series, Unit


def series_rows(chosen: Sequence[Series], extra: dict[str, Callable[[Series], str]]) -> Iterable[str]:
    """Yield the lines of a table: a row for each series, a column for each size, and the `extra` columns.

    A series that was not measured at a size has an empty cell there.
    """
    sizes = sorted({size for series in chosen for size in series.sizes})
    yield row(["", "clock", *(f"{size:,}" for size in sizes), *extra])
    yield row(["---", "---", *["---:"] * (len(sizes) + len(extra))])
    for series in chosen:
        medians = series.medians
        figures = [figure(medians[size], series.unit) if size in medians else "" for size in sizes]
        clock = "CPU" if series.clock == "cpu" else series.clock
        yield row([series.name, clock, *figures, *(cell(series) for cell in extra.values())])
    yield ""


def row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def trend(series: Series) -> str:
    return "" if series.trend is None else f"{series.trend:.2f}"


def per_skill(series: Series) -> str:
    return "" if series.per_skill is None else figure(series.per_skill, series.unit)


def figure(value: float, unit: Unit) -> str:
    """Format a figure with three significant digits, or all digits before the decimal point."""
    if not math.isfinite(value):
        return "not finished"
    if unit is Unit.COUNT:
        return f"{value:,.0f}"
    if unit is Unit.RATIO:
        return _digits(value)
    scales = _BYTES if unit is Unit.BYTES else _SECONDS
    scale, name = next((known for known in scales if abs(value) >= known[0]), scales[-1])
    return f"{_digits(value / scale)} {name}"


def _digits(value: float) -> str:
    decimals = next((decimals for bound, decimals in ((100, 0), (10, 1)) if abs(value) >= bound), 2)
    return f"{value:,.{decimals}f}"


_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BYTES = ((1 << 20, "MiB"), (1 << 10, "KiB"))
