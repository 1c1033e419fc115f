"""Every rule of the specification is explained and has a test; no test names a rule that does not exist."""

import importlib.util
from types import ModuleType

from tests.support.paths import ROOT

PAGE = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
RULES = [*(f"S{number}" for number in range(1, 21)), *(f"H{number}" for number in range(1, 32))]


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rule_table", ROOT / "scripts/lib/rule_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLE = _loaded()
PROVEN: dict[str, list[str]] = TABLE.proven_in(ROOT / "tests")


def test_every_rule_is_explained() -> None:
    assert TABLE.rules_of(PAGE) == RULES


def test_every_rule_has_a_test() -> None:
    assert [rule for rule in RULES if rule not in PROVEN] == []


def test_no_test_names_an_unknown_rule() -> None:
    assert {rule: tests for rule, tests in PROVEN.items() if rule not in RULES} == {}


def test_the_page_lists_the_tests_of_now() -> None:
    assert TABLE.updated(PAGE, PROVEN) == PAGE, "run `scripts/sync-docs`"


def test_markers_are_found_wherever_they_are() -> None:
    assert TABLE.rules_in("@pytest.mark.rule('S1', 'S2')\ndef test_x(): ...") == {"S1", "S2"}
    assert TABLE.rules_in("pytestmark = [pytest.mark.anyio, pytest.mark.rule('S19')]") == {"S19"}
    assert TABLE.rules_in("@pytest.mark.parametrize('S3', [])\ndef test_x(): ...") == set()
