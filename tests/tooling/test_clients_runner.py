"""The runner of real clients: only a report without faults passes, and what did not run is never said to."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

CLIENTS = ROOT / "scripts/lib/clients"
PATIENCE = 120

RUN = """
import json, sys
sys.path.insert(0, sys.argv[1])
import run
from table import Client
sys.exit(run.main(sys.argv[3:], [Client(**each) for each in json.loads(sys.argv[2])]))
"""
README = """# A project

<!-- works with: written by scripts/conformance --clients --write -->
<!-- works with: end -->

The end.
"""
# A driver that asks the server and the site for the fixture, so a wrong target fails.
GOOD = """
import json, sys, urllib.request
target = json.load(open(sys.argv[1], encoding="utf-8"))
if target["transport"] == "stdio":
    ok = target["command"][1] == "serve" and set(target["env"]) == {"HOME", "PATH"}
else:
    with urllib.request.urlopen(target["site"] + "/.well-known/agent-skills/index.json") as answer:
        names = {skill["name"] for skill in json.load(answer)["skills"]}
    ok = {skill["name"] for skill in target["expected"]["skills"]} <= names
checks = [{"name": "find skills", "ok": ok, "detail": ""}]
"""
REPORT = """
print(json.dumps({"client": "x", "version": "1.0", "checks": checks, "supports": ["list"]}))
"""


class Runner:
    """A README, results and drivers in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.readme = folder / "README.md"
        self.readme.write_text(README, "utf-8")
        self.results = folder / "results"

    def client(self, name: str, code: str = GOOD + REPORT, **more: Any) -> dict[str, Any]:
        driver = self.folder / f"{name}.py"
        driver.write_text(code, "utf-8")
        named = {"name": name, "shown": name.title(), "version": "1.0", "driver": str(driver)}
        return {**named, "provided": "inspector", "transports": ["http"], **more}

    def run(
        self, *clients: Mapping[str, Any], options: tuple[str, ...] = (), env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        programs = ("--node", sys.executable, "--skillwire", Path(sys.executable).with_name("skillwire"))
        places = ("--cache", self.folder / "cache", "--results", self.results, "--readme", self.readme)
        command = [sys.executable, "-c", RUN, CLIENTS, json.dumps(clients), *programs, *places]
        return subprocess.run(
            [*command, "--inspector", self.folder, *options],
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def failing(name: str) -> str:
    return f'{GOOD}\nchecks.append({{"name": "{name}", "ok": False, "detail": "because"}})\n{REPORT}'


def test_a_client_that_passes_is_written_and_then_expected(runner: Runner) -> None:
    client = runner.client("good", transports=["stdio", "http", "site"])
    assert runner.run(client).returncode == 1  # the README has no row of it yet
    written = runner.run(client, options=("--write",))
    assert (written.returncode, written.stderr) == (0, "")
    assert "| Good | 1.0 | yes | yes | yes | list | 20" in runner.readme.read_text("utf-8")
    assert runner.readme.read_text("utf-8").endswith("\n\nThe end.\n")
    again = runner.run(client)
    assert again.returncode == 0
    assert "clients: 1 of 1 passed, none left out" in again.stdout


def test_missing_check_or_new_feature_is_a_difference(runner: Runner) -> None:
    more = f'{GOOD}\nchecks.append({{"name": "more", "ok": True, "detail": ""}})\n{REPORT}'
    runner.run(runner.client("good", more), options=("--write",))
    fewer = runner.run(runner.client("good"))
    assert fewer.returncode == 1
    assert "http: more: was ok, is not checked" in fewer.stdout
    words = runner.run(runner.client("good", more.replace('["list"]', '["list", "fly"]')))
    assert words.returncode == 1
    assert "it was checked for list, fly; the README has list" in words.stdout


# A driver that wants a server without `/.well-known/agent-skills/`.
WITHOUT = """
import json, sys, urllib.error, urllib.request
target = json.load(open(sys.argv[1], encoding="utf-8"))
if target["transport"] == "stdio":
    ok = target["command"][-1] == "--no-well-known"
else:
    try:
        ok = not urllib.request.urlopen(target["site"] + "/.well-known/agent-skills/index.json")
    except urllib.error.HTTPError as error:
        ok = error.code == 404
checks = [{"name": "find no site", "ok": ok, "detail": ""}]
"""


def test_each_client_gets_the_server_options_that_it_needs(runner: Runner) -> None:
    needing = {"serve": ["--no-well-known"], "transports": ["stdio", "http"]}
    clients = runner.client("good"), runner.client("needing", WITHOUT + REPORT, **needing)
    done = runner.run(*clients, options=("--write",))
    assert (done.returncode, done.stderr) == (0, "")
    table = runner.readme.read_text("utf-8")
    assert "| Needing | 1.0 | yes | yes |  | list; with `--no-well-known` |" in table


BROKEN = {
    "fails": (failing("read"), "http: read: because"),
    "crashes": ("raise SystemExit('the reason')", "the reason"),
    "silent": ("", "no report, exit code 0"),
    "no-json": ("print('all fine')", "no report"),
    "checks-nothing": (f"{GOOD}\nchecks = []\n{REPORT}", "nothing was checked"),
    "other-version": (GOOD + REPORT.replace("1.0", "0.9"), "version 0.9 ran, not 1.0"),
    "exit-code": (f"{GOOD}{REPORT}\nsys.exit(3)", "the driver ended with exit code 3"),
    "almost-true": (f"{GOOD}\nchecks[0]['ok'] = 'yes'\n{REPORT}", "http: find skills: failed"),
    "twice": (f"{GOOD}\nchecks += checks\n{REPORT}", "two checks have the name `find skills`"),
    "hangs": ("import time; time.sleep(600)", "still running after 3 s"),
}


def test_whatever_is_no_clean_report_fails(runner: Runner) -> None:
    clients = [
        runner.client(name, code, patience=3 if name == "hangs" else 60) for name, (code, _) in BROKEN.items()
    ]
    done = runner.run(runner.client("good"), *clients, options=("--write",))
    assert done.returncode == 1
    assert "clients FAILED: 1 of 11 passed, none left out" in done.stdout
    said = done.stdout.split("\nFAIL  ")
    for name, (_, reason) in BROKEN.items():
        (about,) = (part for part in said if part.startswith(f"{name.title()} 1.0"))
        assert reason in about
    table = runner.readme.read_text("utf-8")
    assert "| Good | 1.0 |  | yes |" in table
    assert table.count("yes") == 1
    assert table.count("not run") == len(BROKEN)
    assert [path.name for path in runner.results.iterdir()] == ["good.json"]


def test_hanging_driver_is_ended_with_its_children(runner: Runner) -> None:
    pids = runner.folder / "pids"
    code = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(pids)!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
time.sleep(600)
"""
    assert runner.run(runner.client("hangs", code, patience=10)).returncode == 1
    for pid in map(int, pids.read_text().split()):
        assert not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes()


def test_what_cannot_be_installed_is_not_run_and_never_passed(runner: Runner) -> None:
    nowhere = runner.folder / "nowhere.whl"
    clients = [
        runner.client("no-python", provided="", pip=["x"], pythons=["2.0"]),
        runner.client("no-package", provided="", pip=[str(nowhere)]),
        runner.client("no-npm", provided="", npm={"x": "1"}),
        runner.client("no-judge", provided="skillwire"),
    ]
    path = f"{Path(sys.executable).parent}{os.pathsep}/nowhere"
    done = runner.run(*clients, options=("--write",), env={"PATH": path})
    assert done.returncode == 0
    assert "No-Python 1.0: NOT RUN: no Python 2.0 was found (as in the README)" in done.stdout
    assert "No-Package 1.0: NOT RUN: No-Package 1.0 cannot be installed: " in done.stdout
    assert "No-Npm 1.0: NOT RUN: npm was not found" in done.stdout
    assert "clients: 0 of 0 passed; 4 NOT RUN: no-python, no-package, no-npm, no-judge" in done.stdout
    assert "ok " not in done.stdout
    assert runner.readme.read_text("utf-8").count("not run") == 4
    assert "yes" not in runner.readme.read_text("utf-8")
    assert list((runner.folder / "cache").iterdir()) == []


def test_client_that_cannot_run_keeps_its_row(runner: Runner) -> None:
    runner.run(runner.client("good"), options=("--write",))
    before = runner.readme.read_text("utf-8")
    gone = runner.client("good", provided="", pip=["x"], pythons=["2.0"])
    done = runner.run(gone, options=("--write",))
    assert "its row in the README is from 20" in done.stdout
    assert "clients: 0 of 0 passed; 1 NOT RUN: good" in done.stdout
    assert runner.readme.read_text("utf-8") == before


def test_a_known_fault_has_a_footnote_until_it_is_gone(runner: Runner) -> None:
    known = {"read": "Reads nothing."}
    assert (
        runner.run(runner.client("odd", failing("read"), known=known), options=("--write",)).returncode == 0
    )
    table = runner.readme.read_text("utf-8")
    assert "| Odd | 1.0 |  | yes¹ |" in table
    assert "\n¹ Reads nothing.\n" in table
    fixed = f'{GOOD}\nchecks.append({{"name": "read", "ok": True, "detail": ""}})\n{REPORT}'
    done = runner.run(runner.client("odd", fixed, known=known), options=("--write",))
    assert done.returncode == 1
    assert "`read` works now" in done.stdout
    assert runner.readme.read_text("utf-8") == table


def test_an_environment_that_is_not_complete_is_made_anew(runner: Runner) -> None:
    wheel = runner.folder / "tried-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("tried.py", "version = '1.0'\n")
        made.writestr("tried-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tried\nVersion: 1.0\n")
        made.writestr("tried-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        made.writestr("tried-1.0.dist-info/RECORD", "")
    code = "\n".join(["import tried", GOOD, REPORT.replace('"1.0"', "tried.version")])
    client = runner.client("wheel", code, provided="", pip=["--no-index", str(wheel)])
    assert runner.run(client, options=("--write",)).returncode == 0
    environment = runner.folder / "cache/wheel-1.0"
    (environment / "complete.json").unlink()
    (environment / "bin/python").unlink()
    done = runner.run(client)
    assert (done.returncode, done.stdout.count("ok")) == (0, 1)


def asked(code: str) -> str:
    """Return what a line of Python prints that has the runner's `results` as `r`."""
    begin = "import json, sys; sys.path.insert(0, sys.argv[1]); import results as r; "
    command = [sys.executable, "-c", begin + code, CLIENTS]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def test_the_readme_has_the_table_of_the_kept_results() -> None:
    table = asked("print(r.render(r.CLIENTS, r.load(r.KEPT)))")
    assert table in (ROOT / "README.md").read_text("utf-8")


def test_every_driver_has_a_client_and_every_result_its_version() -> None:
    table = json.loads(asked("print(json.dumps([[c.name, c.version, c.driver] for c in r.CLIENTS]))"))
    drivers = {path.name for path in (CLIENTS / "drivers").iterdir() if path.suffix in {".py", ".mjs"}}
    assert drivers - {"driving.py", "driving.mjs", "plainly.py"} == {driver for _, _, driver in table}
    versions = {name: version for name, version, _ in table}
    kept = {path.stem: json.loads(path.read_text("utf-8")) for path in (CLIENTS / "results").glob("*.json")}
    assert {name: result["version"] for name, result in kept.items()}.items() <= versions.items()
