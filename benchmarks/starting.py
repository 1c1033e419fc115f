"""Measure a server process: time to its first answer, memory then, and time to stop."""

from collections.abc import Sequence

from benchmarks.plan import Plan, serve, turns
from benchmarks.results import Growth, Series, Table, Unit, series_of
from benchmarks.stdio import StdioServer, request, result
from benchmarks.trees import Tree

_PAGE = 100


def measure(trees: Sequence[Tree], plan: Plan) -> list[Series]:
    started, memory, stopped = Table(), Table(), Table()
    for tree in turns(trees, plan.rounds):
        with StdioServer(serve(tree)) as server:
            answer = server.ask(request("skills/list"))
            started.add(tree.size, server.spent())
            memory.add_one(tree.size, server.memory())
            assert len(result(answer)["skills"]) == min(_PAGE, tree.size), "a page is missing skills"
            stopped.add(tree.size, server.stop())
    return [
        *series_of("process start to the first `skills/list` page", started, Growth.LINEAR),
        Series("memory (RSS) after that page", "", Unit.BYTES, Growth.LINEAR, memory.wall),
        *series_of("end of stdin to the end of the process", stopped, Growth.LINEAR),
    ]
