"""Every rule of the contract has its severity, its entry, and a wrong and a right example that are tried."""

import re
from pathlib import Path
from typing import Any

import pytest

from skillwire import Problem
from skillwire.contract.projection import projection_problems
from skillwire.contract.repository import check_repository
from skillwire.contract.rules.skill import BLOCK_KEY, SEVERITIES
from skillwire.frontmatter.yaml12 import load
from skillwire.sources import Rule
from tests.support.contracts import POLICY, block, check, frontmatter
from tests.tooling.test_docs import DOCS, rule_examples, sections, text_of

PAGE = DOCS / "contract-rules.md"
ENTRIES = sections(text_of(PAGE), 3)
RULES = [rule for rule in Rule if rule.name.startswith("CONTRACT_")]

PATH = re.compile(r"^# (\S+/SKILL\.md)\n", re.MULTILINE)
BESIDE = re.compile(r"^# beside it: (.+)\n", re.MULTILINE)
ORDERS = "orders/SKILL.md"


def examples(kind: str) -> list[Any]:
    found = [
        pytest.param(Rule(rule), example, id=rule)
        for rule, entry in ENTRIES.items()
        for example in rule_examples(entry, kind)
    ]
    return sorted(found, key=lambda each: RULES.index(each.values[0]))


def judged(rule: Rule, example: str) -> list[Problem]:
    """Return every problem of an example."""
    if rule is Rule.CONTRACT_PROJECTION_DROPPED:
        raw = frontmatter(**read(example))
        return list(projection_problems(raw, BLOCK_KEY, "refunds/SKILL.md"))
    first, *others = PATH.split(example)
    skills = dict(zip(others[::2], others[1::2], strict=True)) or {"refunds/SKILL.md": first}
    checked = [skill(rule, *each) for each in skills.items()]
    if ORDERS not in skills:  # the page says that every repository has this skill
        checked.append(check(frontmatter("orders"), path=ORDERS))
    return list(check_repository(checked).problems)


def skill(rule: Rule, path: str, example: str) -> Any:
    name = path.split("/")[-2]
    raw = read(example)
    if not rule.value.endswith("-missing") or rule is Rule.CONTRACT_REFERENCE_MISSING:
        inner: Any = (
            {BLOCK_KEY: block(name) | addresses(name, raw) | raw[BLOCK_KEY]} if has_block(raw) else {}
        )
        raw = {"name": name, "description": f"Does {name}.", BLOCK_KEY: block(name), **raw, **inner}
    elif BLOCK_KEY in raw:
        raw = {"name": name, "description": f"Does {name}.", **raw}
    beside = (found[1] for found in BESIDE.finditer(example))
    return check(raw, path=path, files=(POLICY, *beside))


def addresses(name: str, raw: dict[str, Any]) -> dict[str, list[str]]:
    """Return the capabilities for the references of an example that is not about capabilities."""
    references: Any = raw[BLOCK_KEY].get("references", {})
    uri = f"resource://skills/{name}"
    return {"capabilities": [f"{uri}/document", *(f"{uri}/references/{each}" for each in references)]}


def has_block(raw: dict[str, Any]) -> bool:
    return isinstance(raw.get(BLOCK_KEY), dict)


def read(example: str) -> dict[str, Any]:
    return load(f"---\n{example}").values if re.search(r"^\w", example, re.MULTILINE) else {}


def test_every_rule_of_the_contract_has_documentation_and_a_severity() -> None:
    assert sorted(ENTRIES) == sorted(rule.value for rule in RULES)
    assert set(SEVERITIES) == set(RULES)


def test_every_rule_has_one_wrong_and_one_right_example() -> None:
    for kind in ("wrong", "right"):
        assert [each.values[0] for each in examples(kind)] == RULES


@pytest.mark.parametrize("rule", RULES)
def test_the_documentation_of_a_rule_states_its_severity(rule: Rule) -> None:
    assert ENTRIES[rule].lstrip().startswith(f"**{SEVERITIES[rule].value.capitalize()}.**")


@pytest.mark.parametrize(("rule", "example"), examples("wrong"))
def test_a_wrong_example_is_reported_with_path_field_and_hint(rule: Rule, example: str) -> None:
    problems = judged(rule, example)
    assert rule in {problem.rule for problem in problems}
    for problem in problems:
        assert problem.path.endswith("/SKILL.md")
        assert problem.field
        assert problem.hint
        if problem.rule is rule:
            assert problem.severity is SEVERITIES[rule]


@pytest.mark.parametrize(("rule", "example"), examples("right"))
def test_a_right_example_breaks_no_rule_at_all(rule: Rule, example: str) -> None:
    assert judged(rule, example) == []


def test_the_page_of_the_contract_links_to_its_rules() -> None:
    assert "contract-rules.md" in text_of(Path(DOCS / "contract.md"))
