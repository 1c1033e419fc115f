"""Measure sequential requests over stdio, to servers of all sizes that run at the same time."""

import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from benchmarks.costs import Cost
from benchmarks.plan import Plan, serve, serve_in_code, turns
from benchmarks.results import Growth, Series, Table, series_of
from benchmarks.stdio import StdioServer, request, result
from benchmarks.trees import SKILL_BYTES, Tree

_READ = f"`resources/read` of {SKILL_BYTES // 1024} KB"
_IN_CODE = f"{_READ}, from a `SkillServer` of the smallest tree"


def measure(trees: Sequence[Tree], plan: Plan) -> list[Series]:
    tables: dict[str, Table] = {}
    for _ in range(plan.rounds):
        # Start new processes each round, because a process can be slower than its twin for its whole life.
        _round(trees, plan, tables)
    return [series for name, table in tables.items() for series in series_of(name, table, Growth.CONSTANT)]


def _round(trees: Sequence[Tree], plan: Plan, tables: dict[str, Table]) -> None:
    with ExitStack() as stack:
        servers = {tree.size: stack.enter_context(StdioServer(serve(tree))) for tree in trees}
        questions = {tree.size: _questions(servers[tree.size], tree, plan.batch) for tree in trees}
        small = min(trees, key=lambda tree: tree.size)
        in_code, reads = stack.enter_context(StdioServer(serve_in_code(small))), _reads(small, plan.batch)
        _warm_up(in_code, {_IN_CODE: reads})
        for tree in trees:
            _warm_up(servers[tree.size], questions[tree.size])
        for tree in turns(trees, plan.batches):
            for name, lines in questions[tree.size].items():
                tables.setdefault(name, Table()).add(tree.size, _batch(servers[tree.size], lines))
            if tree is small:
                tables.setdefault(_IN_CODE, Table()).add(tree.size, _batch(in_code, reads))


def _questions(server: StdioServer, tree: Tree, count: int) -> Mapping[str, Sequence[bytes]]:
    """Return `count` requests of each kind. Requests for one skill are spread over the tree."""
    some = tree.spread(count)
    return {
        "`skills/list`, the first page of 100": [request("skills/list")] * count,
        "`skills/list`, the last page": [_last_page(server, "skills/list")] * count,
        "`resources/list`, the first page of 100": [request("resources/list")] * count,
        "`resources/list`, the last page": [_last_page(server, "resources/list")] * count,
        "`skills/get`": [request("skills/get", uri=tree.uri(index)) for index in some],
        _READ: _reads(tree, count),
    }


def _reads(tree: Tree, count: int) -> list[bytes]:
    return [request("resources/read", uri=tree.uri(index)) for index in tree.spread(count)]


def _last_page(server: StdioServer, method: str) -> bytes:
    line = request(method)
    while (cursor := result(server.ask(line)).get("nextCursor")) is not None:
        line = request(method, cursor=cursor)
    return line


def _warm_up(server: StdioServer, questions: Mapping[str, Sequence[bytes]]) -> None:
    for lines in questions.values():
        for line in lines:
            result(server.ask(line))  # raises if the server refuses it


def _batch(server: StdioServer, lines: Sequence[bytes]) -> Cost:
    """Return the cost of one request: the median wall time, and the server's mean CPU time."""
    waits: list[float] = []
    before = server.spent().cpu
    for line in lines:
        began = time.perf_counter()
        server.ask(line)
        waits.append(time.perf_counter() - began)
    return Cost(statistics.median(waits), (server.spent().cpu - before) / len(lines))
