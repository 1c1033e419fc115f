"""The benchmark of serving: write the trees, measure, report."""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import asking, commands, indexing, starting
from benchmarks.machine import Machine
from benchmarks.plan import Plan
from benchmarks.report import Report
from benchmarks.results import Series
from benchmarks.talk import say
from benchmarks.trees import Tree, grow, settle

_MEASUREMENTS: dict[str, Callable[[Sequence[Tree], Plan], list[Series]]] = {
    "starting servers": starting.measure,
    "scanning": indexing.measure,
    "sending requests": asking.measure,
}


def run(plan: Plan) -> Report:
    """Measure everything in `plan`."""
    machine = Machine.here()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="skillwire-bench-") as folder:
        say("writing the trees")
        single = grow(Path(folder) / "1", 1)
        trees = [grow(Path(folder) / str(size), size) for size in plan.sizes]
        settle()
        series: list[Series] = []
        for name, measure in _MEASUREMENTS.items():
            say(name)
            series.extend(measure(trees, plan))
        say("loading commands")
        series.extend(commands.measure(single.root, plan.rounds))
        loads_sdk = commands.check_loads_sdk(single.root)
    return Report(machine, time.monotonic() - begin, loads_sdk, series)
