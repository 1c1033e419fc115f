"""The command line: run what is asked for, print each report, and keep it."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from benchmarks import contract, core, drive, live
from benchmarks.plan import FULL, QUICK, Plan

RESULTS = Path(__file__).parent / "results"


class _Report(Protocol):
    def to_markdown(self) -> str: ...

    def to_json(self) -> str: ...


BENCHMARKS: dict[str, Callable[[Plan], _Report]] = {
    "core": core.run,
    "live": live.run,
    "contract": contract.run,
    "drive": drive.run,
}


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure what serving skills costs.")
    parser.add_argument(
        "names", nargs="*", metavar="BENCHMARK", help=f"{' or '.join(BENCHMARKS)}; without one, all"
    )
    parser.add_argument("--quick", action="store_true", help="small trees, one round: does it work at all?")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="where the results are written (benchmarks/results; with --quick nowhere)",
    )
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.names) - BENCHMARKS.keys():
        parser.error(f"there is no benchmark `{min(unknown)}`; there are {', '.join(BENCHMARKS)}")
    output: Path | None = chosen.output or (None if chosen.quick else RESULTS)
    for name in chosen.names or BENCHMARKS:
        report = BENCHMARKS[name](QUICK if chosen.quick else FULL)
        print(report.to_markdown())
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
            (output / f"{name}.md").write_text(report.to_markdown(), encoding="utf-8")
            (output / f"{name}.json").write_text(report.to_json(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
