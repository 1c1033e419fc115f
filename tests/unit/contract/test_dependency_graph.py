"""Who depends on whom: orders, cycles, closures, and the four drawings."""

import graphlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.contract.graph import Graph, as_dot, as_json, as_mermaid, as_tree
from skillwire.contract.rules.skill import BLOCK_KEY
from skillwire.sources import Rule
from tests.support.contracts import errors, repository

DIAMOND = Graph.of(
    {"shop": ["refunds", "orders"], "refunds": ["customers"], "orders": ["customers"], "customers": []}
)
KNOT = Graph.of({"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": [], "e": ["a"]})
GRAPHS = st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.sampled_from("abcdefghz"), max_size=3)).map(
    Graph.of
)


def test_everything_comes_after_what_it_needs_and_else_by_name() -> None:
    assert DIAMOND.order == ("customers", "orders", "refunds", "shop")
    assert DIAMOND.closure("shop") == ("customers", "orders", "refunds")
    assert DIAMOND.closure("customers") == ()
    assert DIAMOND.dependents["customers"] == ("orders", "refunds")


def test_cycle_starts_and_ends_with_its_first_member() -> None:
    assert KNOT.cycles == (("a", "b", "c", "a"),)
    assert KNOT.order == ("d",)
    assert KNOT.closure("e") == ("d", "a", "b", "c")


def test_a_long_chain_needs_no_recursion() -> None:
    names = [f"skill-{number:05}" for number in range(5_000)]
    chain = Graph.of(dict(zip(names, ([name] for name in names[1:]), strict=False)) | {names[-1]: []})
    assert chain.order == tuple(reversed(names))
    assert chain.cycles == ()
    ring = Graph.of(dict(zip(names, ([name] for name in [*names[1:], names[0]]), strict=True)))
    assert len(ring.cycles[0]) == 5_001


@given(graph=GRAPHS)
def test_orders_and_cycles_agree_with_the_standard_library(graph: Graph) -> None:
    sorter = graphlib.TopologicalSorter({each: graph.dependencies_of(each) for each in graph.edges})
    try:
        sorter.prepare()
    except graphlib.CycleError:
        assert graph.cycles
    else:
        assert graph.cycles == ()
        assert sorted(graph.order) == sorted(graph.edges)
    for each in graph.order:
        assert all(graph.positions[needed] < graph.positions[each] for needed in graph.dependencies_of(each))
    for first, *rest in graph.cycles:
        assert rest[-1] == first
        assert all(
            needed in graph.dependencies_of(each) for each, needed in zip([first, *rest], rest, strict=False)
        )


@given(graph=GRAPHS)
def test_every_drawing_shows_every_skill_once_or_more(graph: Graph) -> None:
    told = as_json(graph)["skills"]
    assert isinstance(told, list)
    for drawing in (as_tree(graph), as_mermaid(graph), as_dot(graph)):
        text = "\n".join(drawing)
        assert all(each in text for each in graph.edges)
    assert len(told) == len(graph.edges)


def test_the_tree_shows_what_each_needs_below_it() -> None:
    assert list(as_tree(DIAMOND)) == [
        "shop",
        "├── refunds",
        "│   └── customers",
        "└── orders",
        "    └── customers",
    ]


def test_tree_stops_at_cycles_and_marks_unknown_skills() -> None:
    assert list(as_tree(KNOT)) == [
        "e",
        "└── a",
        "    └── b",
        "        └── c",
        "            ├── a (cycle)",
        "            └── d",
    ]
    assert list(as_tree(Graph.of({"a": ["x"]}))) == ["a", "└── x (unknown)"]
    twice = Graph.of({"a": ["b", "c"], "b": ["d"], "c": ["b"], "d": []})
    assert list(as_tree(twice))[-1] == "    └── b (see above)"


def test_json_holds_order_cycles_and_what_nobody_knows() -> None:
    assert as_json(Graph.of({"b": ["a", "x"], "a": []})) == {
        "skills": [
            {"id": "a", "depends_on": [], "dependents": ["b"]},
            {"id": "b", "depends_on": ["a", "x"], "dependents": []},
        ],
        "order": ["a", "b"],
        "cycles": [],
        "unknown": [{"id": "b", "depends_on": "x"}],
    }


def test_mermaid_and_dot_are_pictures_of_the_same() -> None:
    graph = Graph.of({"b": ["a", 'x"'], "a": []})
    assert list(as_mermaid(graph)) == [
        "flowchart LR",
        '  n0["a"]',
        '  n1["b"]',
        '  n2["x&quot;"]:::unknown',
        "  n1 --> n0",
        "  n1 --> n2",
        "  classDef unknown stroke-dasharray: 4",
    ]
    assert list(as_dot(graph)) == [
        "digraph skills {",
        "  rankdir=LR;",
        '  "a";',
        '  "b";',
        '  "x\\"" [style=dashed];',
        '  "b" -> "a";',
        '  "b" -> "x\\"";',
        "}",
    ]


def test_cycle_is_an_error_of_all_its_members() -> None:
    found = errors(repository(a=["b"], b=["a"], c=["a"]).problems)
    assert [(problem.path, problem.rule) for problem in found] == [
        ("a/SKILL.md", Rule.CONTRACT_DEPENDENCY_CYCLE),
        ("b/SKILL.md", Rule.CONTRACT_DEPENDENCY_CYCLE),
    ]
    assert all("`a → b → a`" in problem.message for problem in found)


def test_unknown_dependency_is_reported_with_its_list_index() -> None:
    (problem,) = errors(repository(a=["b", "nobody"], b=[]).problems)
    assert (problem.rule, problem.field) == (Rule.CONTRACT_DEPENDENCY_UNKNOWN, f"{BLOCK_KEY}.depends_on[1]")


@pytest.mark.parametrize("count", [1, 400])
def test_any_number_of_skills_may_depend_on_each_other(count: int) -> None:
    names = {f"s{number}": [f"s{number + 1}"] for number in range(count)}
    names[f"s{count}"] = []
    assert errors(repository(**names).problems) == []
