"""How `scripts/matrix` chooses what to test, and what it reports. No registry is asked here."""

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.paths import ROOT

PROJECT = """
[project]
dependencies = ["mcp>=2.3,<2.4", "websockets>=15", "uvloop>=0.22; sys_platform != 'win32'"]
[project.optional-dependencies]
fastmcp = ["fastmcp>=4.1,<5"]
openai-agents = ["openai-agents>=0.24,<1"]
dev = ["pytest>=9", "ruff>=0.14"]
"""
REGISTRY = {
    "mcp": ["2.3.1", "2.3.0", "2.2.0"],
    "websockets": ["17.4", "17.0", "16.1.1", "15.0.1", "15.0", "14.2"],
    "fastmcp": ["5.0", "4.1.1", "4.1.0", "4.0.9", "4.2.0rc1", "nonsense"],
    "fastmcp-slim": ["4.2.0", "4.1.8", "4.1.0"],
}
JUNIT = """<testsuites><testsuite name="pytest">
<testcase classname="tests.test_a" name="test_good"/>
<testcase classname="tests.test_a" name="test_bad[1]"><failure message="no"/></testcase>
<testcase classname="tests.test_a" name="test_torn"><error message="teardown"/></testcase>
<testcase classname="tests.test_a" name="test_torn"><error message="setup"/></testcase>
<testcase classname="tests.test_a" name="test_torn"/>
<testcase classname="tests.test_a" name="test_left"><skipped message="not here"/></testcase>
<testcase classname="" name="tests.test_b"><error message="collection failure"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture(scope="module", autouse=True)
def scripts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT / "scripts/lib"), *sys.path])
        yield


@pytest.fixture(scope="module")
def matrix(scripts: None) -> Any:
    """The module that lists the entries."""
    return importlib.import_module("matrix_entries")


@pytest.fixture(scope="module")
def results(scripts: None) -> Any:
    """The module that keeps and reports outcomes."""
    return importlib.import_module("matrix_report")


@pytest.fixture
def project(matrix: Any) -> Any:
    return matrix.Project.read(PROJECT)


def registry(package: str) -> list[str]:
    return REGISTRY[package]


def nothing(_package: str) -> list[str]:
    return []


def test_every_python_has_the_oldest_and_the_newest(matrix: Any, project: Any) -> None:
    found = {each.name: each for each in matrix.entries(project, ["3.11", "3.13"], registry)}
    assert list(found) == [
        *("3.11-oldest", "3.11-newest", "3.13-oldest", "3.13-newest"),
        *("pinned", "extras-oldest", "extras-newest"),
        *("websockets-15", "websockets-16", "websockets-17"),
        *("fastmcp-4.1.0", "fastmcp-4.1.1", "fastmcp-slim-4.1.8", "fastmcp-slim-4.2.0"),
    ]
    assert found["3.13-oldest"].resolution == found["extras-oldest"].resolution == "lowest-direct"
    assert found["3.13-newest"].extras == ("fastmcp",)  # `openai-agents` would hold websockets back
    assert found["extras-newest"].extras == ("fastmcp", "openai-agents")
    assert [each.name for each in found.values() if each.pinned] == ["pinned"]
    assert found["websockets-17"].also == ("websockets==17.4",)
    assert found["fastmcp-slim-4.2.0"].also == ("fastmcp-slim[client]==4.2.0",)
    assert {each.python for each in found.values()} == {"3.11", "3.13"}
    assert {each.part for each in found.values()} <= set(matrix.PARTS)
    assert list(matrix.entries(project, [], registry)) == []


def test_a_newer_sdk_than_allowed_has_its_own_entry(matrix: Any, project: Any) -> None:
    newer = {**REGISTRY, "mcp": ["3.0.0", "2.5.0", "2.4.1", "2.4.0", "2.3.0"]}
    found = [each for each in matrix.entries(project, ["3.11"], newer.__getitem__) if each.overrides]
    assert [(each.name, each.overrides) for each in found] == [
        ("mcp-2.4.1", ("mcp==2.4.1",)),
        ("mcp-2.5.0", ("mcp==2.5.0",)),
    ]
    assert not any("`mcp`" in told for told in matrix.not_in_registry(project, newer.__getitem__))


def test_what_the_registry_does_not_have_is_reported(matrix: Any, project: Any) -> None:
    assert list(matrix.not_in_registry(project, registry)) == [
        "FastMCP 4.2 as a server: the registry has `fastmcp-slim` of it, but no `fastmcp`.",
        "`mcp` beyond the allowed range: the newest in the registry is 2.3.1.",
    ]
    told = list(matrix.not_in_registry(project, nothing))
    assert [each.split("`")[1] for each in told] == ["mcp", "websockets", "fastmcp", "fastmcp-slim"]
    names = [each.name for each in matrix.entries(project, ["3.11"], nothing)]
    assert names == ["3.11-oldest", "3.11-newest", "pinned", "extras-oldest", "extras-newest"]


def test_the_real_project_can_be_read(matrix: Any) -> None:
    project = matrix.Project.read((ROOT / "pyproject.toml").read_text("utf-8"))
    assert "2.3.0" in project.range_of("mcp")
    assert set(matrix.MODULES) == set(project.optional())
    assert len(project.tools()) == len(matrix.TOOLS)
    for runs, never in matrix.PARTS.values():
        assert [place for place in (*runs, *never) if not (ROOT / place).exists()] == []


def test_names_and_patterns_select_entries(matrix: Any, project: Any) -> None:
    known = list(matrix.entries(project, ["3.11"], registry))
    assert matrix.selected(known, []) == known
    names = [each.name for each in matrix.selected(known, ["fastmcp-4*", "3.11-oldest"])]
    assert names == ["3.11-oldest", "fastmcp-4.1.0", "fastmcp-4.1.1"]
    with pytest.raises(ValueError, match=r"no entry `3\.10-oldest`"):
        matrix.selected(known, ["3.11-oldest", "3.10-oldest"])


@pytest.mark.parametrize(
    ("told", "versions"),
    [
        (
            "WARNING: x\nmcp (2.3.0)\nAvailable versions: 2.3.0, 2.2.0\n  INSTALLED: 2.3.0\n",
            ["2.3.0", "2.2.0"],
        ),
        ("ERROR: No matching distribution found for mcp\n", []),
        ("", []),
    ],
)
def test_versions_are_read_from_pip(matrix: Any, told: str, versions: list[str]) -> None:
    assert matrix.registry_versions(told) == versions


@pytest.fixture
def fake_python(tmp_path: Path) -> Callable[..., Path]:
    """Make a program that says that it is a Python."""

    def make(name: str, kind: str, *version: int, free_threaded: bool = False) -> Path:
        program = tmp_path / name
        told = json.dumps([kind, list(version), str(program), free_threaded])
        program.write_text(f"#!/bin/sh\necho '{told}'\n")
        program.chmod(0o755)
        return program

    return make


def test_the_newest_python_of_each_minor_version_is_taken(
    matrix: Any, fake_python: Callable[..., Path], tmp_path: Path
) -> None:
    shim = tmp_path / "python3.14"
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.14: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    candidates = [
        fake_python("python3.12", "cpython", 3, 12, 1),
        fake_python("old", "cpython", 3, 12, 0),
        fake_python("ancient", "cpython", 3, 10, 13),
        fake_python("pypy3", "pypy", 3, 11, 9),
        fake_python("free", "cpython", 3, 13, 0, free_threaded=True),
        fake_python("python3.11", "cpython", 3, 11, 7),
        *(shim, tmp_path / "missing"),
    ]
    found = matrix.find_pythons(candidates)
    assert {name: program.name for name, program in found.items()} == {
        "3.11": "python3.11",
        "pypy3.11": "pypy3",
        "3.12": "python3.12",
        "3.13t": "free",
    }
    assert next(iter(found)) == "3.11"
    assert matrix.missing_pythons(found) == ["3.13", "3.14", "3.15"]


def test_pythons_are_looked_for_on_the_path_and_in_pyenv(matrix: Any, tmp_path: Path) -> None:
    pyenv = tmp_path / ".pyenv/versions/3.13.0"
    pyenv.mkdir(parents=True)
    found = list(matrix.python_candidates({"PATH": "/first:/second", "HOME": str(tmp_path)}))
    assert {Path("/first/python3.12"), Path("/second/python3"), pyenv / "bin/python3"} <= set(found)
    assert Path(sys.executable) in found


def test_tests_needing_missing_module_are_skipped_by_name(matrix: Any, tmp_path: Path) -> None:
    support = tmp_path / "tests/support"
    support.mkdir(parents=True)
    (tmp_path / "tests/tooling").mkdir()
    files = {
        "support/servers.py": "from fastmcp import FastMCP\n",
        "support/plain.py": "import os\n",
        "test_through.py": "from tests.support.servers import x\n",
        "test_inside.py": "def test():\n    from tests.support import servers\n",
        "test_in_text.py": 'PROGRAM = """\nfrom fastmcp import FastMCP\n"""\n',
        "test_patching.py": 'def test(patch):\n    patch.setattr("keyring.get_keyring", None)\n',
        "test_plain.py": 'from tests.support.plain import y\nWORD = "fastmcp"\n',
        "tooling/test_examples.py": "import os\n",
    }
    for name, text in files.items():
        (tmp_path / "tests" / name).write_text(text)
    left = matrix.left_out(tmp_path, "all", ["fastmcp", "keyring"])
    names = [
        "tests/test_in_text.py",
        "tests/test_inside.py",
        "tests/test_through.py",
        "tests/tooling/test_examples.py",
    ]
    assert left == {"fastmcp": names, "keyring": ["tests/test_patching.py"]}
    assert matrix.left_out(tmp_path, "all", []) == {}
    arguments = matrix.pytest_arguments("all", left, 2)
    assert "--ignore=tests/test_through.py" in arguments
    assert "--ignore=tests/test_plain.py" not in arguments


def test_outcomes_of_tests_are_read(results: Any) -> None:
    ran = results.read_junit(JUNIT)
    assert ran.passed == {"tests.test_a::test_good"}
    assert ran.skipped == {"tests.test_a::test_left"}
    assert ran.failed == {"tests.test_a::test_bad[1]", "tests.test_a::test_torn", "tests.test_b"}


def test_what_does_not_run_again_has_not_passed(matrix: Any, results: Any) -> None:
    first = results.read_junit(JUNIT)
    again = results.Ran(passed=frozenset({"tests.test_a::test_bad[1]"}))
    bad, torn = "tests.test_a::test_bad[1]", "tests.test_a::test_torn"
    assert results.second_try(first, again) == ([bad], [torn, "tests.test_b"])
    assert results.second_try(first, results.Ran()) == ([], [bad, torn, "tests.test_b"])
    assert matrix.node_id(bad) == "tests/test_a.py::test_bad[1]"
    assert matrix.node_id("tests.in_code.test_b") == "tests/in_code/test_b.py"


def outcome(results: Any, entry: str, status: str = "passed", **more: Any) -> Any:
    return results.Outcome(entry, f"about {entry}", more.pop("date", "2026-11-18"), status, **more)


def test_a_partial_run_keeps_the_other_outcomes(results: Any) -> None:
    before = [outcome(results, name, date="2026-01-01") for name in ("a", "b", "gone")]
    merged = results.merged(before, [outcome(results, "b", "failed")], ["a", "b", "c"])
    assert [(each.entry, each.status, each.date) for each in merged] == [
        ("a", "passed", "2026-01-01"),
        ("b", "failed", "2026-11-18"),
    ]


def test_the_report_says_what_ran_and_what_did_not(matrix: Any, results: Any, project: Any) -> None:
    known = list(matrix.entries(project, ["3.11"], registry))
    passed = outcome(results, "3.11-oldest", python="CPython 3.11.7", part="core", passed=1234, skipped=2)
    passed.left_out = {"fastmcp": ["tests/test_manifests.py"]}
    passed.versions = {"mcp": "2.3.0"}
    passed.second_try = ["tests.test_a::test_slow"]
    failed = outcome(results, "3.11-newest", "failed", python="CPython 3.11.7", part="sockets", passed=3)
    failed.failures = ["tests.test_a::test_bad"]
    absent = outcome(results, "fastmcp-4.1.0", "not installed", note="no certifi", part="fastmcp")
    page = results.report([passed, failed, absent], known, ["Python 3.14: not found on this machine."])
    for told in (
        "| `3.11-oldest` | about 3.11-oldest | CPython 3.11.7 | core | 1,234 | 2 | 0 | passed | 2026-11-18 |",
        "| sockets | 3 | 0 | 1 | failed | 2026-11-18 |",
        "- Python 3.14: not found on this machine.",
        "- `fastmcp-4.1.0`: not installed. no certifi",
        "- `websockets-17`: not run yet.",
        "- `3.11-newest`: `tests.test_a::test_bad`",
        "- `3.11-oldest`: `tests.test_a::test_slow`",
        "`3.11-oldest`: these need `fastmcp`, which is not installed there: `tests/test_manifests.py`.",
        "- `3.11-oldest`: mcp 2.3.0.",
        "- sockets: `tests/unit/drive`",
    ):
        assert told in page
    assert "- fastmcp: " not in page  # it did not run


@pytest.mark.parametrize(("more", "result"), [([], "as `pinned`"), (["tests.test_a::test_new"], "failed")])
def test_failure_in_pinned_is_not_attributed_to_versions(
    matrix: Any, results: Any, project: Any, more: list[str], result: str
) -> None:
    known = list(matrix.entries(project, ["3.11"], registry))
    bad = ["tests.test_a::test_bad"]
    pinned, newest = (
        outcome(results, name, "failed", failures=failures, part="core", python="CPython 3.11.7")
        for name, failures in (("pinned", bad), ("3.11-newest", [*bad, *more]))
    )
    page = results.report([newest, pinned], known, [])
    assert f"| {1 + len(more)} | {result} |" in page
    assert page.count("test_bad`") == 1
    assert page.count("test_new`") == len(more)


def test_the_committed_report_is_made_from_the_committed_outcomes(results: Any) -> None:
    folder = ROOT / "benchmarks/results"
    outcomes = results.load(folder / "matrix.json")
    page = (folder / "matrix.md").read_text("utf-8")
    assert outcomes
    assert [each.entry for each in outcomes if f"| `{each.entry}` | {each.about} |" not in page] == []
    assert [each.entry for each in outcomes if f"| {each.date} |" not in page] == []
