"""`skillwire schema`: what editors are told, compared with what the rules say."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from skillwire.contract.rules.block import is_semver
from skillwire.contract.rules.standard import CLAUDE_FIELDS
from tests.support.command_line import Cli

KINDS = {"string": str, "boolean": bool, "array": list, "object": dict, "integer": int}


def accepts(schema: Any, value: Any) -> bool:
    """Whether a value fits a schema, as far as ours go."""
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", list(KINDS))
    if not any(isinstance(value, KINDS[kind]) for kind in kinds):
        return False
    checks: dict[str, Callable[[Any], bool]] = {
        "enum": lambda rule: value in rule,
        "pattern": lambda rule: re.search(rule, value) is not None,
        "minLength": lambda rule: len(value) >= rule,
        "maxLength": lambda rule: len(value) <= rule,
        "required": lambda rule: all(each in value for each in rule),
        "properties": lambda rule: all(accepts(rule[each], value[each]) for each in value if each in rule),
        "items": lambda rule: all(accepts(rule, each) for each in value),
        "contains": lambda rule: any(accepts(rule, each) for each in value),
        "uniqueItems": lambda _: len(set(value)) == len(value),
        "anyOf": lambda rule: any(accepts(each, value) for each in rule),
        "not": lambda rule: not accepts(rule, value),
    }
    return all(check(schema[name]) for name, check in checks.items() if name in schema)


GOOD: dict[str, Any] = {
    "name": "refunds",
    "description": "x",
    "my-own": [1],
    "x-skillwire": {
        "id": "refunds",
        "version": "1.0.0-rc.1+b5",
        "capabilities": ["resource://skills/refunds/document"],
        "references": {"policy": {"path": "references/policy.md"}},
        "icons": [{"src": "a.png", "theme": "dark"}],
        "own": 1,
    },
}


def test_both_schemas_take_a_good_skill(cli: Cli) -> None:
    assert accepts(cli("schema").json, GOOD)
    assert accepts(cli("schema", "--contract").json, GOOD)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "Refunds"},
        {"name": "claude-x"},
        {"name": "3d"},
        {"description": " "},
        {"model": 7},
        {"x-skillwire": 7},
        {"x-skillwire": {**GOOD["x-skillwire"], "version": "1.0"}},
        {"x-skillwire": {**GOOD["x-skillwire"], "version": 1.0}},
        {"x-skillwire": {**GOOD["x-skillwire"], "capabilities": []}},
        {"x-skillwire": {"id": "refunds"}},
    ],
    ids=str,
)
def test_the_contract_refuses_what_the_rules_refuse(cli: Cli, wrong: dict[str, Any]) -> None:
    assert not accepts(cli("schema", "--contract").json, {**GOOD, **wrong})


def test_without_the_contract_the_block_is_free(cli: Cli) -> None:
    told = cli("schema").json
    assert "x-skillwire" not in told["properties"]
    assert accepts(told, {"name": "3d", "description": "x", "x-skillwire": 7})


def test_the_key_and_every_known_field_are_in_the_schema(cli: Cli) -> None:
    told = cli("schema", "--contract", "--block-key", "x-acme").json
    assert told["required"] == ["name", "description", "x-acme"]
    assert set(CLAUDE_FIELDS) <= told["properties"].keys()


def test_the_pattern_for_versions_is_that_of_the_rule(cli: Cli) -> None:
    pattern = cli("schema", "--contract").json["properties"]["x-skillwire"]["properties"]["version"][
        "pattern"
    ]
    for version in ("1.0.0", "1.0.0-01", "1.0.0-0a", "1.0", "01.0.0", "1.0.0+001"):
        assert bool(re.search(pattern, version)) == is_semver(version)
