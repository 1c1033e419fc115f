"""The benchmarks run and report. No time is asserted: a test must not depend on the machine."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.distributions import Distribution, Statistic
from benchmarks.results import Unit
from tests.support.paths import ROOT

GROWING = {
    "process start to the first `skills/list` page",
    "memory (RSS) after that page",
    "end of stdin to the end of the process",
    "floor: walk and stat every file",
    "floor: open, read and hash every file",
    "cold scan",
    "warm scan: nothing has changed",
    "compose the catalog from the scan",
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
CHANGES = {
    "a description is edited",
    "a body is edited, with a subscription",
    "a skill is added",
    "a skill is removed",
}
KINDS = {"prompts", "resources", "tools", "updated"}
BURST = {
    "ping, right after the handshake",
    "ping, nothing else happens",
    "ping, a description is edited four times a second",
    "ping, the burst is written elsewhere",
    "ping, the burst is written to the served folder",
    "the burst is written, without a server",
    "the burst is written, elsewhere",
    "the burst is written, to the served folder",
    "from its first file to the complete catalog",
}
UPDATES = {
    "update after one edit",
    "update after one skill added",
    "update after one skill removed",
    "compose the whole catalog",
}


CONTRACT = {
    "load the library, as `check` does without the contract",
    "check every skill against the contract, alone and with the others",
    "read every text, and check it",
    "peak memory that reading the texts adds / size of the texts",
    "the contract / the library",
}


LIVE_SKILLS = {
    "all programs register",
    "all programs register, until all their skills are in the catalog",
    "`listPaths` of all programs",
    "`listPaths` of one program",
    "a read over HTTP",
    "a read over MCP",
    "a read over HTTP, while one program leaves 64 calls unanswered",
    "a read over MCP, while one program leaves 64 calls unanswered",
}


def quick_run(name: str, output: Path) -> Path:
    command = [sys.executable, "-m", "benchmarks", name, "--quick", "--output", str(output)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip() == (output / f"{name}.md").read_text(encoding="utf-8").rstrip()
    return output


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a quick run has left its results."""
    return quick_run("core", tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def live_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a quick run of the benchmark of live reload has left its results."""
    return quick_run("live", tmp_path_factory.mktemp("live-results"))


@pytest.fixture(scope="module")
def drive_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a quick run of the benchmark of live skills has left its results."""
    return quick_run("drive", tmp_path_factory.mktemp("drive-results"))


@pytest.fixture
def report(results: Path) -> dict[str, Any]:
    return json.loads((results / "core.json").read_text(encoding="utf-8"))


@pytest.fixture
def live_report(live_results: Path) -> dict[str, Any]:
    return json.loads((live_results / "live.json").read_text(encoding="utf-8"))


def test_everything_is_measured_at_every_size(report: dict[str, Any]) -> None:
    measured = {(series["name"], series["growth"]) for series in report["series"]}
    assert measured >= {(name, "linear") for name in GROWING} | {(name, "constant") for name in CONSTANT}
    for series in report["series"]:
        sizes = {"1"} if series["growth"] == "none" else {"100", "300"}
        if "smallest tree" in series["name"]:
            sizes = {"100"}
        assert series["medians"].keys() == series["samples"].keys() == sizes
        assert all(figure > 0 for figure in series["medians"].values()), series["name"]
        assert (series["trend"] is None) == (len(sizes) == 1)


def test_every_time_has_wall_and_cpu_clock(report: dict[str, Any]) -> None:
    timed = [series for series in report["series"] if series["unit"] == "seconds"]
    clocks = {clock: [s["name"] for s in timed if s["clock"] == clock] for clock in ("wall", "cpu")}
    assert clocks["wall"] == clocks["cpu"]
    assert len(timed) == len(clocks["wall"]) + len(clocks["cpu"])


def test_checking_a_folder_does_not_load_the_sdk(report: dict[str, Any]) -> None:
    assert report["check_loads_sdk"] is False


def test_the_tables_show_every_figure(results: Path, report: dict[str, Any]) -> None:
    rows = rows_of(results / "core.md")
    for series in report["series"]:
        assert series["name"] in rows


@pytest.mark.parametrize("benchmark", ["results", "live_results", "contract_results", "drive_results"])
def test_report_does_not_identify_the_machine(benchmark: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(benchmark)
    written = {path.suffix: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    machine = json.loads(written[".json"])["machine"]
    assert machine.keys() == {"system", "cpus", "load", "python", "packages"}
    for text in written.values():
        assert str(ROOT) not in text
        assert str(folder) not in text


def test_every_change_is_notified_at_every_size(live_report: dict[str, Any]) -> None:
    assert {each["name"] for each in live_report["delays"]} == CHANGES
    for each in live_report["delays"]:
        assert each["samples"].keys() == {"100", "300"}
        for delays in each["samples"].values():
            assert len(delays) == 2
            assert all(delay > 0 for delay in delays), f"{each['name']}: not finished"


def test_every_kind_of_notification_is_counted_for_every_change(live_report: dict[str, Any]) -> None:
    counted = {each["name"]: each for each in live_report["notifications"]}
    assert counted.keys() == {f"{change}: `{kind}`" for change in CHANGES for kind in KINDS}
    for each in counted.values():
        assert each["expected"] in {0, 1}
        assert all(len(counts) == 2 for counts in each["samples"].values())


def test_a_burst_is_written_and_listed_while_pings_are_answered(live_report: dict[str, Any]) -> None:
    told = {f"notifications in all: `{kind}`" for kind in KINDS}
    bursts = {each["name"]: each for each in live_report["bursts"]}
    assert bursts.keys() == BURST | told
    assert live_report["burst_files"] == 400
    for name in BURST:
        assert bursts[name]["statistics"].keys() == {"300"}
        for found in bursts[name]["statistics"].values():
            assert found["worst"] >= found["p99"] >= found["median"] > 0, f"{name}: not finished"
    assert bursts["notifications in all: `resources`"]["statistics"]["300"]["median"] >= 1


def test_updates_are_measured_beside_a_whole_catalog(live_report: dict[str, Any]) -> None:
    assert {series["name"] for series in live_report["updates"]} >= UPDATES
    for series in live_report["updates"]:
        assert series["medians"].keys() == {"100", "300"}
        assert all(figure > 0 for figure in series["medians"].values()), series["name"]


def test_the_tables_of_live_reload_show_every_figure(live_results: Path, live_report: dict[str, Any]) -> None:
    rows = rows_of(live_results / "live.md")
    for section in ("delays", "notifications", "idle", "bursts", "updates"):
        assert live_report[section]
        for each in live_report[section]:
            assert each["name"] in rows


def test_live_skills_are_measured_with_every_number_of_programs(drive_results: Path) -> None:
    found = json.loads((drive_results / "drive.json").read_text(encoding="utf-8"))
    assert {each["name"] for each in found["times"]} == LIVE_SKILLS
    assert all(each["statistics"].keys() == {"2", "20"} for each in [*found["times"], found["memory"]])
    assert rows_of(drive_results / "drive.md") >= LIVE_SKILLS | {found["memory"]["name"]}


def test_unfinished_measurements_are_shown_as_not_finished() -> None:
    measured = Distribution("a wait", Unit.SECONDS, {100: [0.5, math.inf, math.inf]})
    assert measured.cell(Statistic.MEDIAN, 100) == "not finished"
    assert json.loads(json.dumps(measured.as_dict(), allow_nan=False))["samples"]["100"] == [0.5, None, None]


@pytest.fixture(scope="module")
def contract_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a quick run of the benchmark of the contract has left its results."""
    return quick_run("contract", tmp_path_factory.mktemp("contract-results"))


def test_contract_is_compared_with_plain_check(contract_results: Path) -> None:
    report = json.loads((contract_results / "contract.json").read_text(encoding="utf-8"))
    rows = rows_of(contract_results / "contract.md")
    assert {series["name"] for series in report["series"]} >= CONTRACT
    for series in report["series"]:
        assert series["medians"].keys() == {"50", "150"}
        assert all(figure > 0 for figure in series["medians"].values()), series["name"]
        assert series["name"] in rows


def rows_of(table: Path) -> set[str]:
    lines = table.read_text(encoding="utf-8").splitlines()
    return {line.split(" | ")[0].removeprefix("| ") for line in lines if line.startswith("| ")}


def test_a_small_soak_finds_no_fault(tmp_path: Path) -> None:
    output = tmp_path / "soak.md"
    options = [
        "--clients",
        "8",
        "--seconds",
        "1.5",
        "--skills",
        "20",
        "--kills",
        "1",
        "--output",
        str(output),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", *options], cwd=ROOT, check=False, timeout=120
    )
    assert done.returncode == 0
    text = output.read_text("utf-8")
    assert re.search(r"answers to `resources/read` \| [1-9]", text)
    assert "| wrong bodies, failed requests, lost connections | 0 |" in text
