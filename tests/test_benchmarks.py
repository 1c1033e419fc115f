"""The benchmark runs and reports. No figure is asserted: a test must not depend on the machine."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]

GROWING = {
    "process start to the first `skills/list` page",
    "memory (RSS) after that page",
    "end of stdin to the end of the process",
    "floor: walk and stat every file",
    "floor: open, read and hash every file",
    "cold scan",
    "warm scan: nothing has changed",
    "compose the catalogue from the scan",
    "rescan of one changed skill",
    "read of a changed file, with all that it sets off",
}
CONSTANT = {
    "cold scan / both floors",
    "warm scan / walk and stat",
    "`skills/list`, the first page of 100",
    "`skills/list`, the last page",
    "`resources/list`, the first page of 100",
    "`resources/list`, the last page",
    "`skills/get`",
    "`resources/read` of 3 KB",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a quick run has left its results."""
    output = tmp_path_factory.mktemp("results")
    command = [sys.executable, "-m", "benchmarks.core", "--quick", "--output", str(output)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip() == (output / "core.md").read_text(encoding="utf-8").rstrip()
    return output


@pytest.fixture
def report(results: Path) -> dict[str, Any]:
    return json.loads((results / "core.json").read_text(encoding="utf-8"))


def test_everything_is_measured_at_every_size(report: dict[str, Any]) -> None:
    measured = {(series["name"], series["growth"]) for series in report["series"]}
    assert measured >= {(name, "linear") for name in GROWING} | {(name, "constant") for name in CONSTANT}
    for series in report["series"]:
        sizes = {"1"} if series["growth"] == "none" else {"100", "300"}
        assert series["medians"].keys() == series["samples"].keys() == sizes
        assert all(figure > 0 for figure in series["medians"].values()), series["name"]
        assert (series["trend"] is None) == (series["growth"] == "none")


def test_every_time_is_told_by_both_clocks(report: dict[str, Any]) -> None:
    timed = [series for series in report["series"] if series["unit"] == "seconds"]
    clocks = {clock: [s["name"] for s in timed if s["clock"] == clock] for clock in ("wall", "cpu")}
    assert clocks["wall"] == clocks["cpu"]
    assert len(timed) == len(clocks["wall"]) + len(clocks["cpu"])


def test_checking_a_folder_does_not_load_the_sdk(report: dict[str, Any]) -> None:
    assert report["check_loads_sdk"] is False


def test_the_tables_show_every_figure(results: Path, report: dict[str, Any]) -> None:
    table = (results / "core.md").read_text(encoding="utf-8")
    rows = [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines() if line.startswith("| ")]
    for series in report["series"]:
        assert series["name"] in rows


def test_the_machine_is_described_without_saying_which_one_it_is(
    results: Path, report: dict[str, Any]
) -> None:
    assert report["machine"].keys() == {"system", "cpus", "load", "python", "packages"}
    written = "".join(path.read_text(encoding="utf-8") for path in results.iterdir())
    assert str(ROOT) not in written
    assert str(results) not in written
