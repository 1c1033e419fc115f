"""The report on serving, as Markdown and JSON. All figures are generated."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.machine import Machine
from benchmarks.results import Growth, Series, Unit
from benchmarks.tables import per_skill, series_rows, trend

_INTRODUCTION = """\
# Cost of serving

Written by `scripts/bench core`. Each generated skill has a `SKILL.md` of 3 KB and 3 files of 1 KB in 2
folders. Figures are medians of interleaved rounds. Files are in the page cache. Wall time varies with the
load of the machine; CPU time varies less.
"""
_LINEAR = """\
## Costs that grow with the number of skills

*slope*: the cost at the largest size divided by that at the size before, divided by the ratio of the sizes.
1.0 is linear growth; a constant part makes it smaller. *per skill*: the cost of each further skill between
these two sizes.
"""
_CONSTANT = """\
## Costs that must not grow

Requests go over stdio, one after the other, to servers of all sizes that run at the same time. CPU time is
that of the server. *growth*: the largest size compared with the smallest. 1.0 means the same cost.
"""
_FLOORS = """\
## Scans compared with the floors

CPU time as a multiple of the *floors* above, in the same round. A floor is the minimal work on these files.
"""
_COMMANDS = "## Start-up of a command\n"


@dataclass(frozen=True, slots=True)
class Report:
    """The results of one run."""

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
