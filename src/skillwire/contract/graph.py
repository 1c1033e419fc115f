"""The dependency graph: its cycles and order, and its output as a tree, JSON, Mermaid or DOT."""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from skillwire.core.record import Json


@dataclass(frozen=True)
class Graph:
    """The dependencies of all skills. Each method takes time roughly linear in the size of the graph."""

    edges: Mapping[str, tuple[str, ...]]
    """The ids on which each skill depends, in the declared order. An id may be unknown or the skill's own."""

    @classmethod
    def of(cls, dependencies: Mapping[str, Iterable[str]]) -> "Graph":
        """Build the graph from the dependencies of each skill. Sorts the skills, and drops repeated ids."""
        return cls({each: tuple(dict.fromkeys(needed)) for each, needed in sorted(dependencies.items())})

    def dependencies_of(self, skill_id: str) -> tuple[str, ...]:
        """Return the direct dependencies of a skill, without unknown ids and the skill itself."""
        return tuple(each for each in self.edges[skill_id] if each in self.edges and each != skill_id)

    def unknown(self) -> Iterator[tuple[str, str]]:
        """Yield each dependency on an unknown id, as (skill, unknown id)."""
        for skill_id, needed in self.edges.items():
            yield from ((skill_id, each) for each in needed if each not in self.edges)

    @cached_property
    def dependents(self) -> Mapping[str, tuple[str, ...]]:
        """The skills that depend directly on each skill, sorted."""
        found: dict[str, list[str]] = {each: [] for each in self.edges}
        for skill_id in self.edges:
            for needed in self.dependencies_of(skill_id):
                found[needed].append(skill_id)
        return {each: tuple(others) for each, others in found.items()}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The skills in topological order: each after its dependencies. Ties are broken by id.

        Skills in a cycle, and skills that depend on such a skill directly or indirectly, are left out.
        """
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
        """One cycle for each strongly connected component of two or more skills, sorted.

        It is a shortest cycle through the component's smallest id. That id is its first and its last item.
        """
        components = (
            component for component in _components(self.edges, self.dependencies_of) if len(component) > 1
        )
        return tuple(sorted(self._shortest_cycle(component) for component in components))

    def closure(self, skill_id: str) -> tuple[str, ...]:
        """Return the direct and indirect dependencies of a skill, in topological order.

        Dependencies that `order` leaves out come last, by id. Unknown ids and the skill itself are left out.
        """
        found: set[str] = set()
        pending = [skill_id]
        while pending:
            for needed in self.dependencies_of(pending.pop()):
                if needed not in found:
                    found.add(needed)
                    pending.append(needed)
        last = len(self.order)
        return tuple(sorted(found - {skill_id}, key=lambda each: (self.positions.get(each, last), each)))

    def _shortest_cycle(self, component: frozenset[str]) -> tuple[str, ...]:
        start = min(component)
        came_from: dict[str, str] = {}
        pending = deque([start])
        while pending:
            here = pending.popleft()
            for needed in self.dependencies_of(here):
                if needed == start:
                    path = [here]
                    while path[-1] != start:
                        path.append(came_from[path[-1]])
                    return (*reversed(path), start)
                if needed in component and needed not in came_from:
                    came_from[needed] = here
                    pending.append(needed)
        raise AssertionError(f"`{start}` is in a component, but in no cycle")


def _components(
    nodes: Iterable[str], dependencies_of: Callable[[str], Iterable[str]]
) -> Iterator[frozenset[str]]:
    """Yield the strongly connected components, by Tarjan's algorithm without recursion."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    unsettled: dict[str, None] = {}  # an ordered set: visited nodes without a component
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
    """Remove `node` and every node visited after it from `unsettled`, and return them."""
    component: set[str] = set()
    while node not in component:
        component.add(unsettled.popitem()[0])
    return frozenset(component)


def as_tree(graph: Graph) -> Iterator[str]:
    """Yield the lines of a tree: each skill without dependents, with its dependencies below it.

    Skills that only cycles lead to follow at the end. The dependencies of a skill are shown only once, so
    there are at most as many lines as skills and dependencies together.
    """
    roots = [each for each in graph.edges if not graph.dependents[each]]
    drawn: set[str] = set()
    for root in (*roots, *(each for each in graph.edges if graph.dependents[each])):
        if root not in drawn:
            yield from _branch(graph, root, drawn)


def as_json(graph: Graph) -> dict[str, Json]:
    """Return the skills with their dependencies and dependents, the order, the cycles and the unknown ids."""
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
    """Yield the lines of a Mermaid flowchart. Unknown ids have a dashed border."""
    yield "flowchart LR"
    numbers = _numbers(graph)
    for name, number in numbers.items():
        yield f'  n{number}["{_html(name)}"]' + ("" if name in graph.edges else ":::unknown")
    for name, needed in _edges(graph):
        yield f"  n{numbers[name]} --> n{numbers[needed]}"
    if any(name not in graph.edges for name in numbers):
        yield "  classDef unknown stroke-dasharray: 4"


def as_dot(graph: Graph) -> Iterator[str]:
    """Yield the lines of a Graphviz graph. Unknown ids have a dashed border."""
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
    """Yield the lines for a skill and its direct and indirect dependencies. Add these skills to `drawn`."""
    # Pending lines: the skill, the prefix of its line, the prefix of the lines below it, and its ancestors.
    pending: list[tuple[str, str, str, frozenset[str]]] = [(root, "", "", frozenset())]
    while pending:
        skill_id, own, below, ancestors = pending.pop()
        needed = graph.edges.get(skill_id)
        if needed is None:
            yield f"{own}{skill_id} (unknown)"
        elif skill_id in ancestors:
            yield f"{own}{skill_id} (cycle)"
        elif skill_id in drawn and needed:
            yield f"{own}{skill_id} (see above)"
        else:
            yield f"{own}{skill_id}"
            drawn.add(skill_id)
            parents = ancestors | {skill_id}
            last = len(needed) - 1
            for at, each in reversed(list(enumerate(needed))):
                mark, gap = ("└── ", "    ") if at == last else ("├── ", "│   ")
                pending.append((each, below + mark, below + gap, parents))


def _edges(graph: Graph) -> Iterator[tuple[str, str]]:
    for name, needed in graph.edges.items():
        yield from ((name, each) for each in needed)


def _numbers(graph: Graph) -> dict[str, int]:
    """Return a number for each skill and unknown id, because not every id is a valid node name."""
    names = dict.fromkeys((*graph.edges, *(needed for _, needed in graph.unknown())))
    return {name: number for number, name in enumerate(names)}


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
