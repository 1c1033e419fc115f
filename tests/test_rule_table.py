"""Every rule of the specification has a test that names it, and no test names a rule that is none."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent
SERVER_RULES = {f"S{number}" for number in range(1, 21)}
HOST_RULES = {f"H{number}" for number in range(1, 32)}


def rules_in(source: str) -> set[str]:
    """Return the ids in every `pytest.mark.rule(...)` of a test file."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    marks = (call for call in calls if ast.unparse(call.func) == "pytest.mark.rule")
    return {str(ast.literal_eval(argument)) for mark in marks for argument in mark.args}


def proven() -> dict[str, set[str]]:
    return {
        path.name: rules_in(path.read_text(encoding="utf-8")) for path in sorted(TESTS.rglob("test_*.py"))
    }


def test_every_rule_of_the_server_is_proven() -> None:
    named = set[str]().union(*proven().values())
    assert SERVER_RULES - named == set()


def test_every_rule_of_the_host_is_proven() -> None:
    named = set[str]().union(*proven().values())
    assert HOST_RULES - named == set()


def test_no_test_names_an_unknown_rule() -> None:
    known = SERVER_RULES | HOST_RULES
    assert {name: rules - known for name, rules in proven().items() if rules - known} == {}


def test_the_table_would_notice_a_missing_rule() -> None:
    assert rules_in("@pytest.mark.rule('S1', 'S2')\ndef test_x(): ...") == {"S1", "S2"}
    assert rules_in("pytestmark = [pytest.mark.anyio, pytest.mark.rule('S19')]") == {"S19"}
    assert rules_in("@pytest.mark.parametrize('S3', [])\ndef test_x(): ...") == set()
