"""What checking the repository contract costs: grow the trees, measure, report."""

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import checking
from benchmarks.machine import Machine
from benchmarks.plan import Plan
from benchmarks.results import Growth, Series
from benchmarks.tables import per_skill, series_rows, trend
from benchmarks.talk import say
from benchmarks.trees import settle

_INTRODUCTION = """\
# What the repository contract costs

Made by `scripts/bench contract`: generated skills that keep the contract, each with a text of 3 KB, a
reference, tags and up to two dependencies. One pass, in one process a round; medians of interleaved rounds.
Files are in the page cache. Columns are the number of skills.
"""
_LINEAR = """\
## What grows with the number of skills

*slope*: the last size against the one before, divided by how many times larger it is, compared within each
round. 1.0 is linear; a constant part pulls it below. *per skill*: what each further skill adds between these
two sizes.
"""
_MEMORY = """\
## What is not kept

If texts were held in memory, this would be 1 or more.
"""
_CONSTANT = """\
## What must not grow

CPU time of the contract, its rules and texts, as a multiple of other work on the same files, compared within
each round. *growth*: the last size against the first. 1.0: it costs the same for each skill.
"""


@dataclass(frozen=True, slots=True)
class ContractReport:
    """All that one run has found."""

    machine: Machine
    seconds: float
    series: Sequence[Series]

    def to_json(self) -> str:
        found = {
            "machine": asdict(self.machine),
            "seconds": round(self.seconds, 1),
            "series": [series.as_dict() for series in self.series],
        }
        return json.dumps(found, indent=1) + "\n"

    def to_markdown(self) -> str:
        return "\n".join(
            [
                _INTRODUCTION,
                f"{self.machine} The run took {self.seconds:.0f} s.",
                "",
                _LINEAR,
                *series_rows(self._of(Growth.LINEAR), {"slope": trend, "per skill": per_skill}),
                _CONSTANT,
                *series_rows(self._of(Growth.CONSTANT), {"growth": trend}),
                _MEMORY,
                *series_rows(self._of(Growth.NONE), {}),
            ]
        )

    def _of(self, growth: Growth) -> list[Series]:
        return [series for series in self.series if series.growth is growth]


def run(plan: Plan) -> ContractReport:
    """Measure trees of half the sizes in `plan`: the largest has 5,000 skills."""
    machine = Machine.here()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="skillwire-bench-") as folder:
        say("growing the trees")
        trees = {size // 2: checking.grow(Path(folder) / str(size), size // 2) for size in plan.sizes}
        settle()
        say("checking")
        series = checking.measure(trees, plan)
    return ContractReport(machine, time.monotonic() - begin, series)
