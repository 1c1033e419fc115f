"""The command line: run the requested benchmarks, print their reports and write them to files."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from benchmarks import contract, core, drive, live
from benchmarks.plan import FULL, QUICK, Plan
from benchmarks.search import run as search
from benchmarks.speed import ground, parts, run
from benchmarks.speed.readme import write_readme
from benchmarks.speed.report import SpeedReport

RESULTS = Path(__file__).parent / "results"
README = Path(__file__).parents[1] / "README.md"
"""Its table of speed is that of the last full run."""


class _Report(Protocol):
    def to_markdown(self) -> str: ...

    def to_json(self) -> str: ...


BENCHMARKS: dict[str, Callable[[Plan], _Report]] = {
    "core": core.run,
    "live": live.run,
    "contract": contract.run,
    "drive": drive.run,
    "search": search.run,
}
SPEED = "speed"
"""The benchmark that can run part by part, and that draws a chart."""


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Run the benchmarks.")
    parser.add_argument(
        "names", nargs="*", metavar="BENCHMARK", help=f"{', '.join(BENCHMARKS)} or {SPEED} (default: all)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small trees, one round: only to see that it works"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where to write the results (default: benchmarks/results; with --quick: nowhere)",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=list(parts.PARTS),
        help=f"with `{SPEED}`: measure only this part, and keep the other results; repeatable",
    )
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.names) - {*BENCHMARKS, SPEED}:
        parser.error(f"unknown benchmark `{min(unknown)}`; choose from {', '.join([*BENCHMARKS, SPEED])}")
    output: Path | None = chosen.output or (None if chosen.quick else RESULTS)
    for name in chosen.names or [*BENCHMARKS, SPEED]:
        if name == SPEED:
            _speed(chosen.only or [], output, quick=chosen.quick)
            continue
        report = BENCHMARKS[name](QUICK if chosen.quick else FULL)
        print(report.to_markdown())
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
            (output / f"{name}.md").write_text(report.to_markdown(), encoding="utf-8")
            (output / f"{name}.json").write_text(report.to_json(), encoding="utf-8")


def _speed(only: Sequence[str], output: Path | None, *, quick: bool) -> None:
    """Compare our server with others. Write results after each part, in case the run is interrupted."""

    def write(report: SpeedReport) -> None:
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
            (output / f"{SPEED}.md").write_text(report.to_markdown(), encoding="utf-8")
            (output / f"{SPEED}.json").write_text(report.to_json(), encoding="utf-8")
            (output / f"{SPEED}.svg").write_text(report.to_svg(), encoding="utf-8")
        if output == RESULTS:
            write_readme(README, report.measures, report.scale.sizes[1])

    known = None if output is None else output / f"{SPEED}.json"
    scale = ground.QUICK if quick else ground.FULL
    print(run.run(scale, only, known, write).to_markdown())


if __name__ == "__main__":
    main(sys.argv[1:])
