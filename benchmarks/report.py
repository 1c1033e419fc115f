"""Results for people (Markdown) and for programs (JSON). No figure in either is written by hand."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.machine import Machine
from benchmarks.results import Growth, Series, Unit
from benchmarks.tables import per_skill, series_rows, trend

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
            "series": [series.as_dict() for series in self.series],
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
                *series_rows(self._of(Growth.LINEAR), {"slope": trend, "per skill": per_skill}),
                _FLOORS,
                *series_rows(self._of(Growth.CONSTANT, ratios=True), {"growth": trend}),
                _CONSTANT,
                *series_rows(self._of(Growth.CONSTANT), {"growth": trend}),
                _COMMANDS,
                f"`skillwire check` {loads} the MCP SDK.\n",
                *series_rows(self._of(Growth.NONE), {}),
            ]
        )

    def _of(self, growth: Growth, *, ratios: bool = False) -> list[Series]:
        return [
            series
            for series in self.series
            if series.growth is growth and (series.unit is Unit.RATIO) is ratios
        ]
