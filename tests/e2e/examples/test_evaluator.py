"""The evaluator of code mode: what it computes, what it refuses, and that it never does anything else."""

import ast
import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from approved_code.bounds import Bounds
from approved_code.check import check
from approved_code.dataset import orders
from approved_code.evaluate import Outcome, evaluate
from approved_code.faults import CodeError
from tests.e2e.examples.expressions import NAMES, bent, expressions, plain, python, soup

DATA = {"orders": list(orders().records)}
BUSY = settings(suppress_health_check=[HealthCheck.too_slow])
"""For code that takes a while to make up: a busy machine is no fault."""
TIGHT = Bounds(length=120, depth=8, steps=300, integer_bits=16, result=60)


def attempt(code: str, names: dict[str, Any] = NAMES, bounds: Bounds | None = None) -> Outcome | CodeError:
    """Run code. Whatever is raised but `CodeError` fails the test."""
    try:
        return evaluate(code, names, bounds)
    except CodeError as error:
        return error


def rules(code: str, names: dict[str, Any] = DATA) -> list[str]:
    """Return which rules code breaks."""
    found = attempt(code, names)
    assert isinstance(found, CodeError), found
    return [each.rule for each in found.violations]


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("len(orders)", 36),
        ('sum(o["total_cents"] for o in orders if o["status"] == "refunded")', 57700),
        ('sorted({o["country"] for o in orders})', ["AT", "DE", "FR", "IT", "NL", "SE"]),
        ('[o["id"] for o in orders if o["total_cents"] > 26000][:2]', ["A-104", "A-108"]),
        (
            '{s: sum(1 for o in orders if o["status"] == s) for s in sorted({o["status"] for o in orders})}',
            {"delivered": 19, "open": 2, "paid": 1, "refunded": 5, "shipped": 9},
        ),
        ('max(o["placed"] for o in orders)', "2026-03-30"),
        ('round(sum(o["total_cents"] for o in orders) / len(orders) / 100, 2)', 148.85),
        ('[o["id"] for o in orders][0:2]', ["A-101", "A-102"]),
        ("(1, 2)", [1, 2]),
        ("any(1 / (x - 2) < 0 for x in [1, 2])", True),
        ("all(1 / (x - 2) > 0 for x in [1, 2])", False),
    ],
)
def test_questions_about_the_orders_are_answered(code: str, result: Any) -> None:
    assert evaluate(code, DATA).result == result


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("", "syntax"),
        ("x = 1", "syntax"),
        ("import os", "syntax"),
        ("1\0", "syntax"),
        ("(" * 300, "syntax"),
        ("().__class__.__bases__[0].__subclasses__()", "call"),
        ("orders.clear", "attribute"),
        ('"{0.__class__}".format(1)', "call"),
        ("__import__('os').system('true')", "call"),
        ("__builtins__", "name"),
        ("print(1)", "call"),
        ("sum", "name"),
        ("nobody", "name"),
        ("(lambda: 1)()", "call"),
        ("lambda: 1", "construct"),
        ("(x := 1)", "construct"),
        ("[*orders]", "construct"),
        ("{**orders[0]}", "construct"),
        ('f"{orders}"', "construct"),
        ("[x async for x in orders]", "construct"),
        ("orders[::2]", "construct"),
        ("orders[1:2, 3]", "construct"),
        ("2 ** 10", "operator"),
        ("1 << 70", "operator"),
        ("~1", "operator"),
        ("1 is 1", "operator"),
        ("b'x'", "literal"),
        ("1j", "literal"),
        ("...", "literal"),
        ("1e999", "number"),
        ("99999999999999999999", "number"),
        ("'\\ud800'", "text"),
        ("'\ud800'", "text"),
        ("(o for o in orders)", "loop"),
        ("len(o for o in orders)", "loop"),
        ("max((o for o in orders), 1)", "loop"),
        ("[a for a, b in orders]", "loop"),
        ("[orders for orders in orders]", "name"),
        ("[sum for sum in orders]", "name"),
        ("[_x for _x in orders]", "name"),
        ("[1 for x in orders for x in orders]", "name"),
        ("[1 for x in orders for y in [x for x in orders]]", "name"),
        ("sum(1, 2)", "call"),
        ("sorted(orders, key=len)", "call"),
        ("sorted(*orders)", "construct"),
        ("1 " + "x" * 2000, "length"),
        ("-" * 50 + "1", "depth"),
        ("1" + "+1" * 50, "depth"),
        (f"[1 {' '.join(f'for x{each} in orders' for each in range(50))}]", "depth"),
    ],
)
def test_code_outside_the_language_is_refused_before_it_runs(code: str, rule: str) -> None:
    with pytest.raises(CodeError) as refused:
        check(code, DATA, Bounds())
    assert [each.rule for each in refused.value.violations] == [rule]


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("1 / 0", "number"),
        ("all(1 / (x - 2) < 0 for x in [1, 2])", "number"),
        ("9223372036854775807 + 1", "number"),
        ("1e308 * 10", "number"),
        ("round(1e300)", "number"),
        ("round(1, -1000000000)", "number"),
        ('"a" * 1000000000', "type"),
        ('"%d" % 5', "type"),
        ("orders[0] + 1", "type"),
        ("-orders", "type"),
        ('orders["x"]', "type"),
        ("orders[99]", "field"),
        ('orders[0]["tota"]', "field"),
        ("1 < 'a'", "type"),
        ("orders == orders", "type"),
        ("{1: 2}", "type"),
        ("{(1, 2)}", "type"),
        ("[x for x in {1, 2}]", "type"),
        ("[x for x in 5]", "type"),
        ("sum(['a'])", "type"),
        ("max([])", "type"),
        ("max([1], [2])", "type"),
        ("len(5)", "type"),
        ("sorted([1], reverse=1)", "type"),
        ("1 in 'abc'", "type"),
        ("1 in [[1]]", "type"),
        ("{1, 2}", "result"),
        ("[[[a for a in orders for b in orders] for c in orders] for d in orders]", "steps"),
        ("[o for o in orders for p in orders]", "result"),
    ],
)
def test_an_error_while_running_ends_with_a_reason(code: str, rule: str) -> None:
    check(code, DATA, Bounds())
    assert rules(code) == [rule]


@pytest.mark.parametrize(
    "each",
    [
        "w + w",
        "w[1:]",
        "w == v",
        "w < v",
        "w in v",
        "w in [v]",
        "'y' in w",
        "{w}",
        "{w: 1}",
        "sorted([w, v])",
        "max(w, v)",
        "any(w)",
        "[1 for x in w]",
    ],
)
def test_every_character_that_is_handled_is_paid_for(each: str) -> None:
    long = {**DATA, "w": "x" * 9_000, "v": "x" * 9_001}
    assert rules(f"[1 if {each} else 2 for o in orders]", long) == ["steps"]
    assert evaluate(f"[1 if {each} else 2 for o in orders[:2]]", long).steps > 9_000


def doubled(levels: int) -> str:
    """Return code for a small list that is written as a giant one: every level holds the next one twice."""
    code = "[1]"
    for level in range(levels):
        code = f"[[x{level}, x{level}] for x{level} in {code}]"
    return code


def test_a_small_value_that_is_large_when_written_is_refused() -> None:
    code = doubled(30)
    assert len(code) < Bounds().length
    assert rules(code) == ["result"]
    assert rules(f"{code} == {code}") == ["type"]
    assert rules(f"{code} in [{code}]") == ["type"]


def test_every_violation_is_reported_with_its_line_and_column() -> None:
    with pytest.raises(CodeError) as refused:
        check('[o.total for o in orders\n if "é" + nobody]', DATA, Bounds())
    assert [(each.rule, each.message) for each in refused.value.violations] == [
        ("attribute", "line 1, column 2: `.total` reaches into a value"),
        ("name", "line 2, column 11: there is no `nobody`"),
    ]
    assert refused.value.violations[0].suggestion == 'read a field as in `record["total"]`'


def test_a_long_list_of_violations_is_cut() -> None:
    assert len(rules("[" + "a," * 500 + "]")) == 10


def test_an_error_about_a_long_value_is_short() -> None:
    found = attempt("orders[0][w]", {**DATA, "w": "x" * 9000})
    assert isinstance(found, CodeError)
    assert len(str(found)) < 300


def test_well_formed_code_means_what_it_means_in_python() -> None:
    agreed = 0

    @BUSY
    @given(expressions())
    def agree(code: str) -> None:
        nonlocal agreed
        found = attempt(code)
        try:
            expected = plain(python(code, NAMES))
        except (ArithmeticError, LookupError, ValueError):
            expected = CodeError
        if isinstance(found, Outcome):
            agreed += 1
            assert repr(found.result) == repr(expected)
        elif expected is not CodeError:  # Python has no bounds: nothing else may be refused
            assert {each.rule for each in found.violations} <= {
                "number",
                "steps",
                "result",
                "depth",
                "length",
            }

    agree()
    assert agreed > 25, "too few examples were comparable"


@BUSY
@given(st.one_of(st.text(max_size=40), soup, bent()))
def test_accepted_code_gives_the_same_result_as_python(code: str) -> None:
    found = attempt(code)
    if isinstance(found, Outcome):
        assert repr(found.result) == repr(plain(python(code, NAMES)))


@BUSY
@given(st.one_of(expressions(), bent(), soup, st.text(max_size=200)))
def test_no_bound_is_ever_exceeded(code: str) -> None:
    found = attempt(code, NAMES, TIGHT)
    if isinstance(found, CodeError):
        assert found.violations
        return
    assert len(code) <= TIGHT.length
    assert found.steps <= TIGHT.steps
    assert depth(parsed(code)) <= TIGHT.depth
    assert size(found.result) <= TIGHT.result
    assert all(
        each.bit_length() <= TIGHT.integer_bits for each in leaves(found.result) if isinstance(each, int)
    )


def test_a_run_ends_at_its_step_limit() -> None:
    code = 'sum(r["n"] for r in rows if r["t"] != w and r["n"] not in r["ns"] + [3])'
    needed = evaluate(code, NAMES).steps
    for allowed in range(needed + 2):
        found = attempt(code, NAMES, Bounds(steps=allowed))
        assert isinstance(found, Outcome) is (allowed >= needed)


def test_sorting_costs_more_than_looking() -> None:
    names = {"many": list(range(64))}
    assert evaluate("sorted(many)", names).steps >= evaluate("max(many)", names).steps + 64 * 6


def parsed(code: str) -> ast.expr:
    with warnings.catch_warnings(action="ignore"):  # about what is odd, and allowed
        return ast.parse(code, mode="eval").body


def depth(node: ast.AST) -> int:
    """Return how deep expressions are nested. What a loop makes stands in every `for` of it."""
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        loops = [number + depth(loop) for number, loop in enumerate(node.generators)]
        return 1 + max(*loops, *(len(loops) - 1 + depth(each) for each in made))
    inner = max((depth(each) for each in ast.iter_child_nodes(node)), default=0)
    return inner + isinstance(node, ast.expr)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for each in value.items() for leaf in leaves(list(each))]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # any value
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]  # any value


def size(value: Any) -> int:
    """Return how many characters and values there are, containers aside."""
    return sum(len(each) if isinstance(each, str) else 1 for each in leaves(value))
