"""The benchmark of live reload: write the trees, measure how changes reach a client, report."""

import tempfile
import time
from pathlib import Path

from benchmarks import amending, bursts, noticing
from benchmarks.live_report import LiveReport
from benchmarks.machine import Machine
from benchmarks.plan import Plan
from benchmarks.talk import say
from benchmarks.trees import grow, settle


def run(plan: Plan) -> LiveReport:
    """Measure everything in `plan`."""
    machine = Machine.here()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="skillwire-bench-") as folder:
        say("writing the trees")
        trees = [grow(Path(folder) / str(size), size) for size in plan.sizes]
        # The same size as the smallest tree with a burst, so that the bursts write the same files.
        elsewhere = grow(Path(folder) / "elsewhere", plan.sizes[1])
        settle()
        say("updating in process")
        updates = amending.measure(trees, plan)
        say("changing skills, one at a time")
        noticed = noticing.measure(trees, plan)
        say("writing bursts")
        burst = bursts.measure(trees[1:], elsewhere, plan)
    return LiveReport(machine, time.monotonic() - begin, plan.burst, noticed, burst, updates)
