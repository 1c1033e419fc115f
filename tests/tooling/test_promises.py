"""Every point that other systems promise works, or differs for a reason, and a test that runs shows it."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from tests.support.paths import ROOT

LIST = ROOT / "docs/promises.toml"
SYSTEMS = ["builder", "skilljack", "contract", "extension", "drive"]
NUMBERS = range(1, 137)
SKIPPING = {"skip", "skipif", "xfail"}


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("promises", ROOT / "scripts/lib/promises.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


TABLE = _loaded()
FOUND = TABLE.read(LIST.read_text("utf-8"))
POINTS: list[Any] = FOUND.points
NAMED = sorted({test for point in POINTS for test in point.tests})
FILES = sorted({test.partition("::")[0] for test in NAMED})

each_point = pytest.mark.parametrize("point", POINTS, ids=lambda point: str(point.number))
each_file = pytest.mark.parametrize("file", FILES)


@pytest.fixture(scope="module")
def collected() -> dict[str, list[str]]:
    """The tests that `pytest` runs without arguments, as in `scripts/test`, with the names of their marks."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.collected"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def matching(test: str, collected: dict[str, list[str]]) -> list[str]:
    """Return the ids of the test itself, or of all its parameters."""
    return [each for each in collected if each == test or each.partition("[")[0] == test]


def test_every_point_is_listed_once_in_order() -> None:
    assert [point.number for point in POINTS] == list(NUMBERS)
    assert list(FOUND.systems) == SYSTEMS
    assert list(dict.fromkeys(point.system for point in POINTS)) == SYSTEMS
    assert len({point.title for point in POINTS}) == len(POINTS)


def test_no_point_is_pending() -> None:
    """Remove `pending = true` from a point, and name its tests, when it is built."""
    assert [point.number for point in POINTS if point.pending] == []


@each_point
def test_every_point_works_or_differs_for_a_reason(point: Any) -> None:
    assert point.status in {"works", "differs"}
    assert bool(point.because) is (point.status == "differs")
    assert not point.title.endswith(".")
    if point.because:
        assert point.because.endswith(".")
        assert len(re.findall(r"[.;](?: |$)", point.because)) <= 3
    assert "|" not in point.title + point.because
    assert point.tests or point.pending
    assert len(set(point.tests)) == len(point.tests)


def test_every_named_test_is_run_by_the_suite(collected: dict[str, list[str]]) -> None:
    assert [test for test in NAMED if not matching(test, collected)] == []


def test_the_suite_runs_everything_that_is_collected() -> None:
    (command,) = re.findall(r'^step "pytest" (.+)$', (ROOT / "scripts/test").read_text("utf-8"), re.MULTILINE)
    options = command.replace('${slow[@]+"${slow[@]}"}', "").split()
    assert options == ["pytest", "-q", "-n", "3", "--dist", "worksteal"]  # nothing is left out


def test_no_named_test_has_a_mark_that_skips_it(collected: dict[str, list[str]]) -> None:
    marked = [each for test in NAMED for each in matching(test, collected) if SKIPPING & {*collected[each]}]
    assert marked == []


@each_file
def test_no_file_with_a_named_test_skips_while_running(file: str) -> None:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert called.isdisjoint({"pytest.skip", "pytest.xfail", "pytest.importorskip"})


def test_the_page_shows_the_list_of_now() -> None:
    shown = (ROOT / "docs/promises.md").read_text("utf-8")
    assert shown == TABLE.page(LIST.read_text("utf-8")), "run `scripts/sync-docs`"
    for number in NUMBERS:
        assert shown.count(f"\n| {number} | ") == 1


def test_a_point_with_wrong_fields_is_refused() -> None:
    start = '[systems]\na = "A"\n[[promises]]\nnumber = 1\nsystem = "a"\ntitle = "T"\nstatus = "works"\n'
    assert "| 1 | T | works | `x.py::test_y` |" in TABLE.page(start + 'tests = ["tests/x.py::test_y"]\n')
    for wrong in ("", "tests = []\nreason = 'none'\n"):
        with pytest.raises(TypeError):
            TABLE.read(start + wrong)


def test_a_named_test_is_found_with_and_without_parameters() -> None:
    known: dict[str, list[str]] = {"a.py::test_x[1-a]": [], "a.py::test_x[2]": [], "a.py::test_xy": []}
    assert matching("a.py::test_x", known) == ["a.py::test_x[1-a]", "a.py::test_x[2]"]
    assert matching("a.py::test_x[2]", known) == ["a.py::test_x[2]"]
    assert matching("a.py::test_", known) == []
