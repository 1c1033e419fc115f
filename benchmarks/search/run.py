"""The benchmark of search: write the folders, measure, report."""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio

from benchmarks.distributions import Distribution, Statistic, distribution_rows
from benchmarks.machine import Machine
from benchmarks.plan import FULL, Plan
from benchmarks.results import Unit
from benchmarks.search import costs, quality, serving
from benchmarks.search.quality import DATA, FTS5, LINEAR, OURS, Quality
from benchmarks.search.texts import Language, write_skills
from benchmarks.tables import figure, row
from benchmarks.talk import say
from benchmarks.trees import settle

SIZES = {1_000: costs.Load(200, 100, 20), 10_000: costs.Load(200, 100, 20), 100_000: costs.Load(100, 40, 10)}
QUICK_SIZES = {50: costs.Load(3, 2, 2), 100: costs.Load(3, 2, 2)}
_SERVER = [sys.executable, "-m", "benchmarks.search.server"]
_INTRODUCTION = """\
# Search

Written by `scripts/bench search`. Plain FTS5 (Porter stemming; name, description and body weighted 8, 4 and
1; any word) and a linear scan (occurrences of the words) search the same skills in the same run.
"""
_QUALITY = f"""\
## Quality

The labelled queries in the folder that `{DATA}` names. *hit@1*: the first result is right or useful.
*recall@10*: the share of right skills among the first ten. *no answer*: of the queries without a right skill,
those that find nothing or only results marked as weak. In parentheses: 95 % intervals of a bootstrap.
"""
_TIMES = """\
## Wall time of a query

Generated skills with texts of 2 to 7 KB, each a single file. Every query is new. Ours includes reading the
files of the results for snippets. Columns are the number of skills.
"""
_COSTS = """\
## Costs

CPU time of all threads. *edit*: how much longer a search for models takes after one skill has changed.
*warm start*: open the stored index and compare it with the library. *overlap*: the first ten results
that a search over all postings has, too. *memory*: resident bytes of a server on stdio.
"""


@dataclass(frozen=True, slots=True)
class SearchReport:
    """The results of one run."""

    machine: Machine
    seconds: float
    quality: Sequence[Quality] | None
    """None if there are no labelled queries."""
    samples: Mapping[int, Mapping[str, Sequence[float]]]
    """The samples of each figure, at each size."""

    def to_json(self) -> str:
        found = {
            "machine": asdict(self.machine),
            "seconds": round(self.seconds, 1),
            "quality": None if self.quality is None else [asdict(each) for each in self.quality],
            "samples": self.samples,
        }
        return json.dumps(found) + "\n"

    def to_markdown(self) -> str:
        return "\n".join(
            [
                _INTRODUCTION,
                f"{self.machine} The run took {self.seconds:.0f} s.",
                "",
                _QUALITY,
                *self._quality_rows(),
                "",
                _TIMES,
                *distribution_rows(self._times()),
                _COSTS,
                *self._cost_rows(),
                "",
            ]
        )

    def _quality_rows(self) -> Sequence[str]:
        if self.quality is None:
            return [f"Not measured: `{DATA}` is not set."]
        return [
            row(["queries", "", "hit@1", "recall@10", "no answer"]),
            row(["---"] * 5),
            *(
                row([each.queries, each.contestant, str(each.hit), str(each.recall), str(each.refused)])
                for each in self.quality
            ),
        ]

    def _times(self) -> list[Distribution]:
        names = [f"{name}, {length}" for length in costs.LENGTHS for name in (OURS, FTS5, LINEAR)]
        return [
            Distribution(
                name,
                Unit.SECONDS,
                {size: found[name] for size, found in self.samples.items() if name in found},
                (Statistic.MEDIAN, Statistic.P99),
            )
            for name in [*names, serving.CALM, serving.BUSY]
        ]

    def _cost_rows(self) -> Sequence[str]:
        sizes = list(self.samples)
        rows = [row(["", *(f"{size:,}" for size in sizes)]), row(["---", *(["---:"] * len(sizes))])]
        for name, unit, value in _figures():
            cells = [
                figure(value({key: statistics.fmean(v) for key, v in found.items()}), unit)
                if name != costs.EDIT
                else figure(statistics.median(found[name]), unit)
                for found in self.samples.values()
            ]
            rows.append(row([name, *cells]))
        return rows


def _figures() -> list[tuple[str, Unit, Callable[[Mapping[str, float]], float]]]:
    """Return the name and unit of each cost, and how it follows from the means of samples."""
    times = (costs.COLD, costs.BUILD, costs.FTS5_BUILD, costs.WARM_SCAN, costs.WARM, costs.EDIT)
    overlaps = [f"overlap, {length}" for length in costs.LENGTHS]
    return [
        *((name, Unit.SECONDS, _one(name)) for name in times),
        ("build / cold scan", Unit.RATIO, _ratio(costs.BUILD, costs.COLD)),
        ("build FTS5 / cold scan", Unit.RATIO, _ratio(costs.FTS5_BUILD, costs.COLD)),
        *((name, Unit.RATIO, _one(name)) for name in overlaps),
        *((name, Unit.BYTES, _one(name)) for name in (serving.WITHOUT, serving.WITH)),
        ("memory with / without search", Unit.RATIO, _ratio(serving.WITH, serving.WITHOUT)),
    ]


def _one(name: str) -> Callable[[Mapping[str, float]], float]:
    return lambda means: means[name]


def _ratio(one: str, other: str) -> Callable[[Mapping[str, float]], float]:
    return lambda means: means[one] / means[other]


def run(plan: Plan) -> SearchReport:
    """Measure search. `plan` tells whether to measure quickly."""
    sizes = SIZES if plan is FULL else QUICK_SIZES
    machine, begin = Machine.here(), time.monotonic()
    data = quality.data_folder()
    say("asking labelled queries" if data else f"no labelled queries: {DATA} is not set")
    found = None if data is None else anyio.run(quality.measure, data)
    samples: dict[int, Mapping[str, Sequence[float]]] = {}
    for size, load in sizes.items():
        with tempfile.TemporaryDirectory(prefix="skillwire-bench-") as folder:
            say(f"writing {size:,} skills")
            root = Path(folder)
            write_skills(Language(), root, size)
            settle()
            say(f"searching {size:,} skills")
            samples[size] = {
                **costs.measure_apart(root, size, load),
                **serving.measure(root, _SERVER, load.queries),
            }
    return SearchReport(machine, time.monotonic() - begin, found, samples)
