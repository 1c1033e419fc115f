"""The whole run: grow the trees, measure, report."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import asking, commands, indexing, starting
from benchmarks.machine import Machine
from benchmarks.plan import FULL, QUICK, Plan
from benchmarks.report import Report
from benchmarks.results import Series
from benchmarks.trees import Tree, grow, settle

RESULTS = Path(__file__).parent / "results"

_MEASUREMENTS: dict[str, Callable[[Sequence[Tree], Plan], list[Series]]] = {
    "starting servers": starting.measure,
    "scanning": indexing.measure,
    "asking": asking.measure,
}


def run(plan: Plan) -> Report:
    """Measure everything in `plan`."""
    machine = Machine.here()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="skillwire-bench-") as folder:
        _say("growing the trees")
        single = grow(Path(folder) / "1", 1)
        trees = [grow(Path(folder) / str(size), size) for size in plan.sizes]
        settle()
        series: list[Series] = []
        for name, measure in _MEASUREMENTS.items():
            _say(name)
            series.extend(measure(trees, plan))
        _say("loading commands")
        series.extend(commands.measure(single.root, plan.rounds))
        loads_sdk = commands.check_loads_sdk(single.root)
    return Report(machine, time.monotonic() - begin, loads_sdk, series)


def main(arguments: Sequence[str]) -> None:
    """Run, print the report, and keep it."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure what serving skills costs.")
    parser.add_argument("--quick", action="store_true", help="small trees, one round: does it work at all?")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where core.md and core.json are written (benchmarks/results; with --quick nowhere)",
    )
    chosen = parser.parse_args(arguments)
    report = run(QUICK if chosen.quick else FULL)
    print(report.to_markdown())
    output: Path | None = chosen.output or (None if chosen.quick else RESULTS)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        (output / "core.md").write_text(report.to_markdown(), encoding="utf-8")
        (output / "core.json").write_text(report.to_json(), encoding="utf-8")


def _say(what: str) -> None:
    print(f"{what} …", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
