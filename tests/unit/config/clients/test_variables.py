"""Variables are replaced as each client replaces them, once, and a missing one is a problem."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.config.clients.base import BRACES, BRACES_AND_BARE, EDITOR, NONE, EntryError, Variables
from skillwire.config.clients.files import parse_jsonc
from tests.support.client_files import Machine

ENVIRONMENT = {"A": "1", "EMPTY": "", "NESTED": "${A}$A"}
NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}", fullmatch=True)


@pytest.mark.parametrize(
    ("pattern", "text", "expanded"),
    [
        (NONE, "${A} $A ${env:A}", "${A} $A ${env:A}"),
        (BRACES, "x${A}y", "x1y"),
        (BRACES, "$A ${A", "$A ${A"),
        (BRACES, "${B:-a default}", "a default"),
        (BRACES, "${A:-other}", "1"),
        (BRACES, "${EMPTY:-other}${EMPTY}", "other"),
        (BRACES, "${B:-}", ""),
        (BRACES, "${NESTED}", "${A}$A"),
        (BRACES, "${not a name}", "${not a name}"),
        (BRACES_AND_BARE, "$A-${A}$", "1-1$"),
        (BRACES_AND_BARE, "costs $5", "costs $5"),
        (EDITOR, "${env:A}", "1"),
    ],
)
def test_what_becomes_of_a_text(pattern: re.Pattern[str], text: str, expanded: str) -> None:
    assert Variables(pattern, ENVIRONMENT).expand(text) == expanded


@pytest.mark.parametrize(
    ("pattern", "text", "told"),
    [
        (BRACES, "${B}", "the variable `B` is not set"),
        (BRACES_AND_BARE, "$B", "the variable `B` is not set"),
        (BRACES, "${B:-${A}}", "a variable in the default value of `B` is not supported"),
        (EDITOR, "${env:B}", "the variable `B` is not set"),
        (EDITOR, "${input:key}", "its input `key` is known only to the editor"),
        (EDITOR, "${command:x}", "the value of `${command:x}` is known only to the editor"),
        (EDITOR, "${A}", "the value of `${A}` is known only to the editor"),
    ],
)
def test_what_cannot_be_known_is_told(pattern: re.Pattern[str], text: str, told: str) -> None:
    with pytest.raises(EntryError, match=re.escape(told)):
        Variables(pattern, ENVIRONMENT).expand(text)


@given(st.text().filter(lambda text: "$" not in text))
def test_a_text_without_variables_stays_as_it_is(text: str) -> None:
    for pattern in (NONE, BRACES, BRACES_AND_BARE, EDITOR):
        variables = Variables(pattern, {})
        assert variables.expand(text) == text
        assert variables.used == set()


@given(st.dictionaries(NAMES, st.text(), min_size=1), st.text(alphabet="ab/:-"))
def test_a_value_is_put_in_once_and_as_it_is(environment: dict[str, str], between: str) -> None:
    names = list(environment)
    variables = Variables(BRACES, environment)
    expanded = variables.expand(between.join(f"${{{name}}}" for name in names))
    assert expanded == between.join(environment[name] for name in names)
    assert variables.used == set(names)


def test_a_missing_variable_is_the_problem_of_one_server(machine: Machine) -> None:
    servers = {
        "missing": {"command": "x", "env": {"TOKEN": "${ACME_TOKEN}"}},
        "default": {"command": "x", "args": ["${ACME_MODE:-quiet}"]},
    }
    machine.own(".claude.json", {"mcpServers": servers})
    assert machine.server("missing").state == "the variable `ACME_TOKEN` is not set"
    default = machine.server("default").target
    assert default is not None
    assert default.command == ("x", "quiet")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["//", "/*", "*/", ",]", '\\"']),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, st.sampled_from(["", " ", "// x\n", "/* \n ] */", "/**/"]))
def test_comments_and_a_last_comma_change_nothing(value: Any, comment: str) -> None:
    text = json.dumps(value, indent=1)
    assert parse_jsonc(text) == value
    spread = f"{comment}{text}{comment}"
    if isinstance(value, (list, dict)) and value:
        spread = f"{comment}{text[:-1].rstrip()}{comment},{comment}{text[-1]}{comment}"
    assert parse_jsonc(spread) == value


@pytest.mark.parametrize("text", ["", "{", '{"a": "', "/* x", '{"a" 1}', "{,}1", '"a" // b\n c'])
def test_what_is_no_json_is_none_with_comments_either(text: str) -> None:
    with pytest.raises(ValueError, match="line"):
        parse_jsonc(text)


def test_jsonc_error_reports_the_original_line_and_column() -> None:
    with pytest.raises(ValueError, match="line 3 column 2"):
        parse_jsonc("// one\n/* two */ {\n x: 1}")
