"""The desk of code mode: what is judged, how risky it is said to be, and what runs afterwards."""

import json
from contextlib import suppress
from itertools import product
from typing import Any

import pytest

from approved_code.approvals import Approvals, Caller, Reason, RefusedError
from approved_code.dataset import orders
from approved_code.desk import Desk
from approved_code.faults import CodeError

ADA = Caller("ada", "session-1")
PEOPLE = {order[field] for order in orders().records for field in orders().personal}


@pytest.fixture
def desk() -> Desk:
    return Desk(orders(), Approvals("shop"))


@pytest.mark.parametrize(
    ("code", "risk"),
    [
        ("1 + 1", "low"),
        ("len(orders)", "low"),
        ('sum(o["total_cents"] for o in orders if o["country"] == country)', "low"),
        ('[[o["id"], o["status"]] for o in orders]', "low"),
        ('[c for c in sorted({o["country"] for o in orders})]', "low"),
        ('[o["email"] for o in orders]', "medium"),
        ('[o["id"] for o in orders if o["customer"] == "Ada Brandt"]', "medium"),
        ("orders", "medium"),
        ("orders[0]", "medium"),
        ("[o for o in orders]", "medium"),
        ("[o[country] for o in orders]", "medium"),
        ('[o["em" + "ail"] for o in orders]', "medium"),
        ('[o["em" "ail"] for o in orders]', "medium"),
        ('[p["id"] for p in [o for o in orders]]', "medium"),
        ('[o["id"] for o in orders[0:3]]', "medium"),
        ("[f for o in orders for f in o]", "medium"),
    ],
)
def test_code_that_may_show_personal_data_has_medium_risk(desk: Desk, code: str, risk: str) -> None:
    verdict = desk.validate(ADA, code, {"country": "DE"})
    assert (verdict.risk, verdict.violations) == (risk, ())


PIECES = [
    "o",
    'o["id"]',
    'o["email"]',
    "o[field]",
    "orders",
    "orders[0]",
    "len(orders)",
    "field",
    '"email"',
    "p",
]
SHAPES = [
    "[{0} for o in orders]",
    "[{0} for o in orders if {1} != {2}]",
    "[{0} for o in orders for p in {1}]",
    "[{0} for o in {1}]",
    "[{0} for p in [{1} for o in orders]]",
    "[{0} if {1} else {2} for o in orders]",
    '{{"a": {0}, "b": [{1} for o in orders]}}',
    "sorted({{{0} for o in orders}})",
    "max({0} for o in orders)",
]


@pytest.mark.parametrize("field", ["id", "email"])
@pytest.mark.parametrize("shape", SHAPES)
def test_code_of_low_risk_never_shows_who_anybody_is(desk: Desk, shape: str, field: str) -> None:
    shown: list[str] = []
    for pieces in product(PIECES, repeat=1 + ("{1}" in shape) + ("{2}" in shape)):
        code, variables = shape.format(*pieces), {"field": field}
        verdict = desk.validate(ADA, code, variables)
        if verdict.risk == "low" and verdict.token is not None:
            with suppress(CodeError):
                shown.append(json.dumps(desk.execute(ADA, code, variables, verdict.token).result))
    assert shown, "nothing was of low risk"
    assert not [each for each in PEOPLE if json.dumps(each) in "".join(shown)]


def test_the_explanation_lists_what_is_read_and_changes_nothing(desk: Desk) -> None:
    code = 'round(sum(o["total_cents"] for o in orders if o["email"] != mine) / 100, 2)'
    verdict = desk.validate(ADA, code, {"mine": "x@example.com", "idle": 1})
    assert verdict.explanation == (
        "Reads `email`, `total_cents` of up to 36 `orders`. Uses `mine` as given. Calls `round`, `sum`. "
        "May show who customers are: `email`. Changes nothing."
    )
    listed = desk.validate(ADA, code, {"mine": "x@example.com"}, form="markdown").explanation
    assert listed.splitlines()[-1] == "- Changes nothing."
    assert listed.startswith("- Reads `email`")


def test_code_that_breaks_a_rule_is_critical_without_a_token(desk: Desk) -> None:
    verdict = desk.validate(ADA, "orders.clear()", {})
    assert (verdict.valid, verdict.token, verdict.risk) == (False, None, "critical")
    assert verdict.explanation == "This may not run: 1 rule is broken."


@pytest.mark.parametrize(
    "variables",
    [
        {"orders": []},
        {"sum": 1},
        {"__class__": 1},
        {"_x": 1},
        {"if": 1},
        {"ä": 1},
        {"a b": 1},
        {"": 1},
        {"x": float("inf")},
        {"x": 2**70},
        {"x": "\ud800"},
        {"x": "y" * 20_001},
        {"x": [[0] * 200] * 200},
        {"x": {1: 2}},
        {"x": {"y": object()}},
    ],
)
def test_variables_must_be_plain_values_with_plain_names(desk: Desk, variables: dict[str, Any]) -> None:
    (violation,) = desk.validate(ADA, "1", variables).violations
    assert violation.rule in {"variable", "number", "text", "result"}


def test_a_variable_that_is_nested_without_end_is_refused(desk: Desk) -> None:
    endless: list[Any] = []
    endless.append(endless)
    (violation,) = desk.validate(ADA, "1", {"x": endless}).violations
    assert violation.rule == "result"


def test_what_was_approved_runs_once_on_its_variables(desk: Desk) -> None:
    code, variables = '[o["id"] for o in orders if o["total_cents"] > least]', {"least": 26_600}
    token = desk.validate(ADA, code, variables).token
    assert token is not None
    assert desk.execute(ADA, code, variables, token).result == EXPECTED
    with pytest.raises(RefusedError) as refused:
        desk.execute(ADA, code, variables, token)
    assert refused.value.reason is Reason.USED


EXPECTED = [order["id"] for order in orders().records if order["total_cents"] > 26_600]


def test_a_token_is_used_up_by_code_that_stops(desk: Desk) -> None:
    token = desk.validate(ADA, "1 / 0", {}).token
    assert token is not None
    with pytest.raises(CodeError, match="divided by zero"):
        desk.execute(ADA, "1 / 0", {}, token)
    with pytest.raises(RefusedError) as refused:
        desk.execute(ADA, "1 / 0", {}, token)
    assert refused.value.reason is Reason.USED


def test_a_dry_run_judges_and_hands_out_nothing(desk: Desk) -> None:
    verdict = desk.validate(ADA, "len(orders)", {}, dry_run=True)
    assert (verdict.valid, verdict.risk, verdict.token) == (True, "low", None)


def test_the_example_data_are_small_and_invented() -> None:
    assert len(orders().records) == 36
    assert len({order["id"] for order in orders().records}) == 36
    assert all(order["email"].endswith("@example.com") for order in orders().records)
    assert all(list(order) == orders().fields for order in orders().records)
