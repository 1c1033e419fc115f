"""Test the package with other versions of Python and of its dependencies. For scripts/matrix.

An entry is one Python with one set of dependencies, in its own environment under `.cache/matrix`. uv resolves
the versions: `lowest-direct` gives the oldest that `pyproject.toml` allows, `highest` the newest. Only the
entry `pinned` uses `constraints.txt`. Results are in `benchmarks/results/matrix.json`. A run of some entries
leaves the results of the others unchanged.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from matrix_entries import (
    MODULES,
    PARTS,
    TOOLS,
    Entry,
    Project,
    entries,
    find_pythons,
    in_range,
    left_out,
    missing_pythons,
    node_id,
    not_in_registry,
    pytest_arguments,
    python_candidates,
    registry_versions,
    selected,
)
from matrix_report import Outcome, Ran, load, merged, read_junit, report, second_try
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ROOT / ".cache/matrix"
RECORDS = ROOT / "benchmarks/results/matrix.json"
REPORT = RECORDS.with_suffix(".md")
UV = "uv==0.13.8"

SECONDS = 3600
"""Time limit for one run of pytest."""


class NotInstalledError(Exception):
    """The packages of an entry cannot be installed."""


class Bench:
    """Makes the environments, and runs the tests in them."""

    def __init__(self, project: Project, pythons: Mapping[str, Path]) -> None:
        self.project, self.pythons = project, pythons
        self._uv: Path | None = None

    @cache  # noqa: B019 - there is only one instance
    def registry(self, package: str) -> list[str]:
        """Return the versions of a package that the registry of this machine has."""
        command = [sys.executable, "-m", "pip", "index", "versions", package]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        return registry_versions(done.stdout)

    def run(self, entry: Entry, part: str, workers: int) -> Outcome:
        """Run the tests of one entry. A failed installation is an outcome too."""
        started = time.monotonic()
        outcome = Outcome(
            entry.name, entry.about, datetime.now(UTC).date().isoformat(), "not installed", part=part
        )
        try:
            python = self._install(entry)
        except NotInstalledError as error:
            outcome.note = str(error)
            return outcome
        installed = self._installed(python)
        outcome.python = installed.pop("")
        direct = {canonicalize_name(each.name) for each in self._direct()} | {"fastmcp-slim"}
        outcome.versions = {name: version for name, version in sorted(installed.items()) if name in direct}
        self._test(entry, part, workers, python, outcome)
        outcome.seconds = round(time.monotonic() - started)
        return outcome

    def _direct(self) -> list[Requirement]:
        optional = (each for name in self.project.optional() for each in self.project.extras[name])
        return [*self.project.dependencies, *optional]

    def _test(self, entry: Entry, part: str, workers: int, python: Path, outcome: Outcome) -> None:
        absent = [module for module in MODULES.values() if not self._has(python, module)]
        client_only = entry.part == "fastmcp-client"  # has the module `fastmcp`, but without its server
        outcome.left_out = {} if client_only else left_out(ROOT, part, absent)
        first, note = self._pytest(python, pytest_arguments(part, outcome.left_out, workers))
        outcome.passed, outcome.skipped = len(first.passed), len(first.skipped)
        if first.failed:  # on a busy machine some tests time out: run the failed ones again, alone
            options = ["-q", "-p", "no:cacheprovider", "-n", "0"]
            again, _ = self._pytest(python, [*options, *map(node_id, sorted(first.failed))])
            outcome.second_try, outcome.failures = second_try(first, again)
            outcome.passed += len(outcome.second_try)
        outcome.note = note
        outcome.status = "failed" if outcome.failures or note else "passed"

    def _pytest(self, python: Path, arguments: Sequence[str]) -> tuple[Ran, str]:
        """Run pytest. Return its results, and what went wrong with the run itself, if anything."""
        environment = {
            key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "PYTHONHOME"}
        }
        environment["PATH"] = f"{python.parent}{os.pathsep}{environment.get('PATH', '')}"
        with tempfile.TemporaryDirectory() as scratch:
            written = Path(scratch, "report.xml")
            command = [python, "-m", "pytest", *arguments, f"--junitxml={written}"]
            try:
                done = subprocess.run(command, cwd=ROOT, env=environment, timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return Ran(), f"pytest was still running after {SECONDS} seconds"
            if not written.is_file():
                return Ran(), f"pytest wrote no report; its exit code is {done.returncode}"
            ran = read_junit(written.read_text(encoding="utf-8"))
        if not ran.failed and (done.returncode or not ran.passed):
            return ran, f"pytest passed {len(ran.passed)} tests, but its exit code is {done.returncode}"
        return ran, ""

    def _install(self, entry: Entry) -> Path:
        """Make the entry's environment, and return its Python. Raises `NotInstalledError`."""
        folder = ENVIRONMENTS / entry.name
        folder.mkdir(parents=True, exist_ok=True)
        requirements, pins = folder / "wanted.txt", folder / "pins.txt"
        # Test only the dependencies in their oldest version. The test tools are always the newest.
        tools = (
            [f"{name}=={self._newest(name)}" for name in TOOLS]
            if entry.resolution != "highest"
            else self.project.tools()
        )
        requirements.write_text("\n".join([*tools, *entry.also]) + "\n", encoding="utf-8")
        overrides = folder / "overrides.txt"
        overrides.write_text("".join(f"{each}\n" for each in entry.overrides), encoding="utf-8")
        program = self.pythons[entry.python]
        extras = [each for name in entry.extras for each in ("--extra", name)]
        if entry.pinned:
            extras += ["--constraint", "constraints.txt"]
        self._with_uv(
            *("pip", "compile", "pyproject.toml", str(requirements), "--python", str(program)),
            *(
                "--override",
                str(overrides),
                "--resolution",
                entry.resolution,
                "--no-header",
                "--no-annotate",
                "-o",
                str(pins),
                *extras,
            ),
        )
        environment = folder / "venv"
        self._with_uv("venv", "--clear", "--python", str(program), str(environment))
        python = environment / "bin/python"
        self._with_uv("pip", "sync", "--python", str(python), str(pins))
        self._with_uv("pip", "install", "--python", str(python), "--no-deps", "--editable", ".")
        return python

    def _newest(self, package: str) -> Version:
        if not (found := in_range(self.registry(package), self.project.range_of(package))):
            raise NotInstalledError(f"the registry has no allowed version of `{package}`")
        return found[-1]

    def _with_uv(self, *arguments: str) -> None:
        if self._uv is None:
            self._uv = install_uv()
        environment = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
        environment.pop("VIRTUAL_ENV", None)
        command = [self._uv, *arguments, "--quiet"]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NotInstalledError(reason_of(done.stderr))

    @staticmethod
    def _has(python: Path, module: str) -> bool:
        code = f"import importlib.util as u, sys; sys.exit(u.find_spec({module!r}) is None)"
        return subprocess.run([python, "-c", code], check=False).returncode == 0

    @staticmethod
    def _installed(python: Path) -> dict[str, str]:
        """Map each installed package to its version, and the empty name to that of Python."""
        code = (
            "import importlib.metadata as m, json, platform;"
            "print(json.dumps({'': f'{platform.python_implementation()} {platform.python_version()}',"
            " **{d.name: d.version for d in m.distributions()}}))"
        )
        found = json.loads(subprocess.run([python, "-c", code], capture_output=True, check=True).stdout)
        return {canonicalize_name(name) if name else "": version for name, version in found.items()}


def reason_of(output: str) -> str:
    """Return uv's error output as one line, without addresses."""
    words = " ".join(re.sub(r"https?://\S+|file://\S+", "…", output).replace("╰─▶", " ").split())
    words = re.sub(r"^(?:error:|\u00d7) *", "", words)
    return words[:400] + ("…" if len(words) > 400 else "") or "uv gave no reason"


def install_uv() -> Path:
    """Install uv into its own environment, unless it is there. Return the program."""
    folder = ENVIRONMENTS / "tools"
    uv = folder / "bin/uv"
    expected = UV.replace("==", " ")
    if uv.is_file():
        output = subprocess.run([uv, "--version"], capture_output=True, text=True, check=False).stdout
        if output.startswith(expected):
            return uv
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    subprocess.run([folder / "bin/python", "-m", "pip", "install", "--quiet", UV], check=True)
    return uv


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/matrix", description="Test with other versions of Python and of the dependencies."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="an entry, or a pattern such as `fastmcp-*`")
    parser.add_argument("--list", action="store_true", help="show the entries and run nothing")
    parser.add_argument("--part", choices=list(PARTS), help="run these tests instead of the entry's own")
    parser.add_argument(
        "--workers", type=int, default=2, metavar="N", help="number of tests to run at a time (2)"
    )
    options = parser.parse_args(arguments)
    project = Project.read((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    pythons = find_pythons(python_candidates(os.environ))
    bench = Bench(project, pythons)
    missing = [f"Python {version}: not found on this machine." for version in missing_pythons(pythons)]
    missing += not_in_registry(project, bench.registry)
    known = list(entries(project, list(pythons), bench.registry))
    try:
        chosen = selected(known, options.names)
    except ValueError as error:
        parser.error(f"{error}; `scripts/matrix --list` shows all")
    if options.list:
        for each in chosen:
            print(f"{each.name:22} {each.part:15} {each.about}")
        print(*missing, sep="\n", file=sys.stderr)
        return 0
    failed = False
    for each in chosen:
        print(f"== {each.name}: {each.about}", flush=True)
        outcome = bench.run(each, options.part or each.part, options.workers)
        failed |= outcome.status == "failed"
        print(f"-- {each.name}: {outcome.status} {outcome.note}", flush=True)
        # Write after each entry, so that an interrupted run loses nothing.
        outcomes = merged(load(RECORDS), [outcome], [one.name for one in known])
        records = {"missing": missing, "outcomes": [asdict(one) for one in outcomes]}
        RECORDS.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        REPORT.write_text(report(outcomes, known, missing), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
