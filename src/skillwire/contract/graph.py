"""The dependency graph: cycles, order, and drawings as tree, JSON, Mermaid and DOT."""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from skillwire.core.record import Json


@dataclass(frozen=True)
class Graph:
    """The dependencies of all skills. Every question costs no more than one walk."""

    edges: Mapping[str, tuple[str, ...]]
    """What each skill depends on, known or not, in the order of its author."""

    @classmethod
    def of(cls, dependencies: Mapping[str, Iterable[str]]) -> "Graph":
        """Return the graph of skills and what each depends on; what is given twice counts once."""
        return cls({each: tuple(dict.fromkeys(needed)) for each, needed in sorted(dependencies.items())})

    def dependencies_of(self, skill_id: str) -> tuple[str, ...]:
        """Return what a skill depends on, as far as it is known, without itself."""
        return tuple(each for each in self.edges[skill_id] if each in self.edges and each != skill_id)

    def unknown(self) -> Iterator[tuple[str, str]]:
        """Yield each skill that depends on something that nobody knows, and what that is."""
        for skill_id, needed in self.edges.items():
            yield from ((skill_id, each) for each in needed if each not in self.edges)

    @cached_property
    def dependents(self) -> Mapping[str, tuple[str, ...]]:
        """For each skill those that depend on it, sorted."""
        found: dict[str, list[str]] = {each: [] for each in self.edges}
        for skill_id in self.edges:
            for needed in self.dependencies_of(skill_id):
                found[needed].append(skill_id)
        return {each: tuple(others) for each, others in found.items()}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All skills, each behind what it depends on, else by name; without those that a cycle holds up."""
        waiting = {each: len(self.dependencies_of(each)) for each in self.edges}
        ready = [each for each, number in waiting.items() if number == 0]
        heapq.heapify(ready)
        order: list[str] = []
        while ready:
            order.append(done := heapq.heappop(ready))
            for other in self.dependents[done]:
                waiting[other] -= 1
                if waiting[other] == 0:
                    heapq.heappush(ready, other)
        return tuple(order)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        return {each: at for at, each in enumerate(self.order)}

    @cached_property
    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """One short cycle for each knot of skills that depend on each other; the first is also the last."""
        knots = (knot for knot in _components(self.edges, self.dependencies_of) if len(knot) > 1)
        return tuple(sorted(self._shortest_cycle(knot) for knot in knots))

    def closure(self, skill_id: str) -> tuple[str, ...]:
        """Return all that a skill depends on, also at second hand: what is needed comes first."""
        found: set[str] = set()
        pending = [skill_id]
        while pending:
            for needed in self.dependencies_of(pending.pop()):
                if needed not in found:
                    found.add(needed)
                    pending.append(needed)
        last = len(self.order)
        return tuple(sorted(found - {skill_id}, key=lambda each: (self.positions.get(each, last), each)))

    def _shortest_cycle(self, knot: frozenset[str]) -> tuple[str, ...]:
        start = min(knot)
        came_from: dict[str, str] = {}
        pending = deque([start])
        while pending:
            here = pending.popleft()
            for needed in self.dependencies_of(here):
                if needed == start:
                    way = [here]
                    while way[-1] != start:
                        way.append(came_from[way[-1]])
                    return (*reversed(way), start)
                if needed in knot and needed not in came_from:
                    came_from[needed] = here
                    pending.append(needed)
        raise AssertionError(f"`{start}` is in a knot and in no cycle")


def _components(
    nodes: Iterable[str], dependencies_of: Callable[[str], Iterable[str]]
) -> Iterator[frozenset[str]]:
    """Yield the sets of nodes that can all reach each other, after Tarjan, without recursion."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    unsettled: dict[str, None] = {}  # an ordered set: what was visited and belongs to no component yet
    for root in nodes:
        walk: list[tuple[str, Iterator[str]]] = []
        following: str | None = root if root not in number else None
        while following is not None or walk:
            if following is not None:
                number[following] = low[following] = len(number)
                unsettled[following] = None
                walk.append((following, iter(dependencies_of(following))))
            node, rest = walk[-1]
            following = None
            for each in rest:
                if each not in number:
                    following = each
                    break
                if each in unsettled:
                    low[node] = min(low[node], number[each])
            if following is None:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == number[node]:
                    yield _settle(unsettled, node)


def _settle(unsettled: dict[str, None], node: str) -> frozenset[str]:
    """Take `node` and what was visited after it."""
    component: set[str] = set()
    while node not in component:
        component.add(unsettled.popitem()[0])
    return frozenset(component)


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
