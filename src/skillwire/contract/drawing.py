"""The dependency graph in four ways: a tree for people, JSON for programs, Mermaid and DOT for pictures."""

from collections.abc import Callable, Iterator, Mapping

from skillwire.contract.graph import Graph
from skillwire.model.entry import Json


def as_tree(graph: Graph) -> Iterator[str]:
    """Yield lines: each skill that nothing depends on, and below it what it depends on.

    What was drawn once is not drawn again, and a cycle ends where it begins, so this is as long as the graph.
    """
    roots = [each for each in graph.edges if not graph.dependents[each]]
    drawn: set[str] = set()
    for root in (*roots, *(each for each in graph.edges if graph.dependents[each])):
        if root not in drawn:
            yield from _branch(graph, root, drawn)


def as_json(graph: Graph) -> dict[str, Json]:
    """Return the skills with what they depend on, the order, the cycles, and what nobody knows."""
    return {
        "skills": [
            {"id": each, "depends_on": list(needed), "dependents": list(graph.dependents[each])}
            for each, needed in graph.edges.items()
        ],
        "order": list(graph.order),
        "cycles": [list(cycle) for cycle in graph.cycles],
        "unknown": [{"id": each, "depends_on": needed} for each, needed in graph.unknown()],
    }


def as_mermaid(graph: Graph) -> Iterator[str]:
    """Yield the lines of a Mermaid flowchart."""
    yield "flowchart LR"
    numbers = _numbers(graph)
    for name, number in numbers.items():
        yield f'  n{number}["{_html(name)}"]' + ("" if name in graph.edges else ":::unknown")
    for name, needed in _edges(graph):
        yield f"  n{numbers[name]} --> n{numbers[needed]}"
    if any(name not in graph.edges for name in numbers):
        yield "  classDef unknown stroke-dasharray: 4"


def as_dot(graph: Graph) -> Iterator[str]:
    """Yield the lines of a Graphviz graph."""
    yield "digraph skills {"
    yield "  rankdir=LR;"
    for name in _numbers(graph):
        yield f"  {_dot(name)}" + (";" if name in graph.edges else " [style=dashed];")
    for name, needed in _edges(graph):
        yield f"  {_dot(name)} -> {_dot(needed)};"
    yield "}"


DRAWINGS: Mapping[str, Callable[[Graph], Iterator[str]]] = {
    "text": as_tree,
    "mermaid": as_mermaid,
    "dot": as_dot,
}


def _branch(graph: Graph, root: str, drawn: set[str]) -> Iterator[str]:
    # What waits: the skill, what stands before it, what stands before those below it, and those around it.
    pending: list[tuple[str, str, str, frozenset[str]]] = [(root, "", "", frozenset())]
    while pending:
        skill_id, own, below, above = pending.pop()
        needed = graph.edges.get(skill_id)
        if needed is None:
            yield f"{own}{skill_id} (unknown)"
        elif skill_id in above:
            yield f"{own}{skill_id} (cycle)"
        elif skill_id in drawn and needed:
            yield f"{own}{skill_id} (see above)"
        else:
            yield f"{own}{skill_id}"
            drawn.add(skill_id)
            around = above | {skill_id}
            last = len(needed) - 1
            for at, each in reversed(list(enumerate(needed))):
                mark, gap = ("└── ", "    ") if at == last else ("├── ", "│   ")
                pending.append((each, below + mark, below + gap, around))


def _edges(graph: Graph) -> Iterator[tuple[str, str]]:
    for name, needed in graph.edges.items():
        yield from ((name, each) for each in needed)


def _numbers(graph: Graph) -> dict[str, int]:
    names = dict.fromkeys((*graph.edges, *(needed for _, needed in graph.unknown())))
    return {name: number for number, name in enumerate(names)}


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
