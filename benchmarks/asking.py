"""Requests over stdio, one after the other, to servers of all sizes that run side by side."""

import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from benchmarks.costs import Cost
from benchmarks.plan import Plan, serve, turns
from benchmarks.results import Growth, Series, Table, series_of
from benchmarks.stdio import StdioServer, request, result
from benchmarks.trees import SKILL_BYTES, Tree


def measure(trees: Sequence[Tree], plan: Plan) -> list[Series]:
    tables: dict[str, Table] = {}
    for _ in range(plan.rounds):
        # New processes each round: of two servers of one size, one can be slower for as long as it lives.
        _round(trees, plan, tables)
    return [series for name, table in tables.items() for series in series_of(name, table, Growth.CONSTANT)]


def _round(trees: Sequence[Tree], plan: Plan, tables: dict[str, Table]) -> None:
    with ExitStack() as stack:
        servers = {tree.size: stack.enter_context(StdioServer(serve(tree))) for tree in trees}
        questions = {tree.size: _questions(servers[tree.size], tree, plan.batch) for tree in trees}
        for tree in trees:
            _warm_up(servers[tree.size], questions[tree.size])
        for tree in turns(trees, plan.batches):
            for name, lines in questions[tree.size].items():
                tables.setdefault(name, Table()).add(tree.size, _batch(servers[tree.size], lines))


def _questions(server: StdioServer, tree: Tree, count: int) -> Mapping[str, Sequence[bytes]]:
    """Return `count` requests of each kind. Those about one skill are about skills from all over the tree."""
    some = tree.spread(count)
    return {
        "`skills/list`, the first page of 100": [request("skills/list")] * count,
        "`skills/list`, the last page": [_last_page(server, "skills/list")] * count,
        "`resources/list`, the first page of 100": [request("resources/list")] * count,
        "`resources/list`, the last page": [_last_page(server, "resources/list")] * count,
        "`skills/get`": [request("skills/get", uri=tree.uri(index)) for index in some],
        f"`resources/read` of {SKILL_BYTES // 1024} KB": [
            request("resources/read", uri=tree.uri(index)) for index in some
        ],
    }


def _last_page(server: StdioServer, method: str) -> bytes:
    line = request(method)
    while (cursor := result(server.ask(line)).get("nextCursor")) is not None:
        line = request(method, cursor=cursor)
    return line


def _warm_up(server: StdioServer, questions: Mapping[str, Sequence[bytes]]) -> None:
    for lines in questions.values():
        for line in lines:
            result(server.ask(line))  # raises if it is refused


def _batch(server: StdioServer, lines: Sequence[bytes]) -> Cost:
    """Return what one request costs: the median of the waits, and the server's share of CPU time."""
    waits: list[float] = []
    before = server.spent().cpu
    for line in lines:
        asked = time.perf_counter()
        server.ask(line)
        waits.append(time.perf_counter() - asked)
    return Cost(statistics.median(waits), (server.spent().cpu - before) / len(lines))
