"""Results for people (Markdown) and for programs (JSON). No figure in either is written by hand."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from benchmarks.machine import Machine
from benchmarks.results import Growth, Series, Unit

_INTRODUCTION = """\
# What serving skills costs

Made by `scripts/bench`: trees of generated skills, each with a `SKILL.md` of 3 KB and 3 files of 1 KB in 2
folders. Medians of interleaved rounds. Files are in the page cache. Wall time varies with whatever else the
machine does; CPU time does so less.
"""
_LINEAR = """\
## What grows with the number of skills

*slope*: the last size against the one before, divided by how many times larger it is, compared within each
round. 1.0 is linear; a constant part pulls it below. *per skill*: what each further skill adds between these
two sizes.
"""
_CONSTANT = """\
## What must not grow

Requests go over stdio, one after the other, to servers of all sizes that run at the same time; CPU time is
the server's. *growth*: the last size against the first, compared within each round. 1.0: it costs the same.
"""
_FLOORS = """\
## Scans against the least that they could do

CPU time as a multiple of that of the floors above, compared within each round.
"""
_COMMANDS = "## What a command loads\n"


@dataclass(frozen=True, slots=True)
class Report:
    """All that one run has found."""

    machine: Machine
    seconds: float
    check_loads_sdk: bool
    series: Sequence[Series]

    def to_json(self) -> str:
        found = {
            "machine": asdict(self.machine),
            "seconds": round(self.seconds, 1),
            "check_loads_sdk": self.check_loads_sdk,
            "series": [_series(series) for series in self.series],
        }
        return json.dumps(found, indent=1) + "\n"

    def to_markdown(self) -> str:
        loads = "loads" if self.check_loads_sdk else "does not load"
        return "\n".join(
            [
                _INTRODUCTION,
                f"{self.machine} The run took {self.seconds:.0f} s.",
                "",
                _LINEAR,
                *_rows(self._of(Growth.LINEAR), {"slope": _trend, "per skill": _per_skill}),
                _FLOORS,
                *_rows(self._of(Growth.CONSTANT, ratios=True), {"growth": _trend}),
                _CONSTANT,
                *_rows(self._of(Growth.CONSTANT), {"growth": _trend}),
                _COMMANDS,
                f"`skillwire check` {loads} the MCP SDK.\n",
                *_rows(self._of(Growth.NONE), {}),
            ]
        )

    def _of(self, growth: Growth, *, ratios: bool = False) -> list[Series]:
        return [
            series
            for series in self.series
            if series.growth is growth and (series.unit is Unit.RATIO) is ratios
        ]


def _rows(chosen: Sequence[Series], extra: dict[str, Callable[[Series], str]]) -> Iterable[str]:
    sizes = sorted({size for series in chosen for size in series.sizes})
    yield _row(["", "clock", *(f"{size:,}" for size in sizes), *extra])
    yield _row(["---", "---", *["---:"] * (len(sizes) + len(extra))])
    for series in chosen:
        figures = [_figure(series.medians[size], series.unit) for size in sizes]
        clock = "CPU" if series.clock == "cpu" else series.clock
        yield _row([series.name, clock, *figures, *(cell(series) for cell in extra.values())])
    yield ""


def _series(series: Series) -> dict[str, object]:
    return {
        "name": series.name,
        "clock": series.clock,
        "unit": series.unit,
        "growth": series.growth,
        "trend": series.trend,
        "per_skill": series.per_skill,
        "medians": series.medians,
        "samples": series.samples,
    }


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _trend(series: Series) -> str:
    return "" if series.trend is None else f"{series.trend:.2f}"


def _per_skill(series: Series) -> str:
    return "" if series.per_skill is None else _figure(series.per_skill, series.unit)


def _figure(value: float, unit: Unit) -> str:
    """Return three digits, or as many as stand before the point."""
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
