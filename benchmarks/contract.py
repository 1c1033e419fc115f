"""The benchmark of the repository contract: write the trees, measure, report."""

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
# Cost of the repository contract

Written by `scripts/bench contract`. The generated skills satisfy the contract. Each has a text of 3 KB, a
reference, tags and up to two dependencies. Every round is one pass in a new process. Figures are medians of
interleaved rounds. Files are in the page cache. Columns are the number of skills.
"""
_LINEAR = """\
## Costs that grow with the number of skills

*slope*: the cost at the largest size divided by that at the size before, divided by the ratio of the sizes.
1.0 is linear growth; a constant part makes it smaller. *per skill*: the cost of each further skill between
these two sizes.
"""
_MEMORY = """\
## Memory

If the texts stayed in memory, this would be 1 or more.
"""
_CONSTANT = """\
## Costs that must not grow

CPU time of the contract (rules and texts), as a multiple of other work on the same files in the same round.
*growth*: the largest size compared with the smallest. 1.0 means the same cost for each skill.
"""


@dataclass(frozen=True, slots=True)
class ContractReport:
    """The results of one run."""

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
    """Measure trees of half the sizes in `plan`."""
    machine = Machine.here()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="skillwire-bench-") as folder:
        say("writing the trees")
        trees = {size // 2: checking.grow(Path(folder) / str(size), size // 2) for size in plan.sizes}
        settle()
        say("checking")
        series = checking.measure(trees, plan)
    return ContractReport(machine, time.monotonic() - begin, series)
