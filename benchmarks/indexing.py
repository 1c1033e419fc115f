"""Measure the way from files to a catalog: cold scan, warm scan, composing, and one changed skill.

    python -m benchmarks.indexing ROOT SIZE

runs one round, in its own process, so that rounds do not affect each other's memory.
"""

import gc
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio

from benchmarks.costs import Cost, timed
from benchmarks.floors import read_and_hash, walk_and_stat
from benchmarks.plan import Plan, turns
from benchmarks.results import Growth, Series, Table, Unit, ratio, series_of
from benchmarks.trees import FILES, Tree
from skillwire.core.record import Limits
from skillwire.library.compose import LabelledScan, compose
from skillwire.library.library import Library
from skillwire.sources.base import Scan
from skillwire.sources.folder.source import FolderSource

WALK = "floor: walk and stat every file"
READ = "floor: open, read and hash every file"
COLD = "cold scan"
WARM = "warm scan: nothing has changed"
_COMPOSE = "compose the catalog from the scan"
_RESCAN = "rescan of one changed skill"
_CHANGED = "read of a changed file, with all that it sets off"
_OFTEN = 3
"""Repetitions of quick operations in one round."""


def measure(trees: Sequence[Tree], plan: Plan) -> list[Series]:
    tables: dict[str, Table] = {}
    for tree in turns(trees, plan.rounds):
        for name, cost in round_apart(tree).items():
            tables.setdefault(name, Table()).add(tree.size, cost)
    costs = [series for name, table in tables.items() for series in series_of(name, table, Growth.LINEAR)]
    cold, warm = tables[COLD].cpu, tables[WARM].cpu
    walk, read = tables[WALK].cpu, tables[READ].cpu
    floor = {size: [a + b for a, b in zip(walk[size], read[size], strict=True)] for size in walk}
    return [
        *costs,
        Series("cold scan / both floors", "cpu", Unit.RATIO, Growth.CONSTANT, ratio(cold, floor)),
        Series("warm scan / walk and stat", "cpu", Unit.RATIO, Growth.CONSTANT, ratio(warm, walk)),
    ]


def round_apart(tree: Tree) -> dict[str, Cost]:
    command = [sys.executable, "-m", "benchmarks.indexing", str(tree.root), str(tree.size)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1])
    costs: dict[str, list[float]] = json.loads(printed.stdout)
    return {name: Cost(wall, cpu) for name, (wall, cpu) in costs.items()}


async def _round(tree: Tree) -> dict[str, Cost]:
    costs: dict[str, Cost] = {}

    async def cost_of(name: str, work: Callable[[], Awaitable[Any]], times: int = 1) -> Any:
        found: list[Cost] = []
        done = None
        for _ in range(times):
            done = None  # free the last result before making the next
            with timed(found):
                done = await work()
        costs[name] = Cost.median(found)
        return done

    async def walk() -> list[str]:
        return walk_and_stat(tree.root)

    files = await cost_of(WALK, walk)

    async def read() -> None:
        read_and_hash(files)

    await cost_of(READ, read)
    source = FolderSource(tree.root, limits=Limits(entries=1_000_000))
    gc.disable()  # as a server does while it loads
    scan = await cost_of(COLD, source.scan)
    gc.freeze()
    gc.enable()
    assert len(scan.entries) == tree.size, "not every skill was found"
    scan = await cost_of(WARM, source.scan)

    async def make() -> None:
        compose([LabelledScan(source.label, scan)])

    await cost_of(_COMPOSE, make, _OFTEN)
    return costs | await _after_edits(tree, source, scan)


async def _after_edits(tree: Tree, source: FolderSource, scan: Scan) -> dict[str, Cost]:
    middle = tree.size // 2
    entry = next(entry for entry in scan.entries if entry.uri == tree.uri(middle))
    rescans: list[Cost] = []
    for revision in range(_OFTEN):
        tree.edit(middle, revision)
        with timed(rescans):
            await source.rescan(frozenset({entry.origin.location}))
    library = Library([source])
    await library.load()
    reads: list[Cost] = []
    for revision in range(_OFTEN, 2 * _OFTEN):
        content = tree.edit(middle, revision)
        with timed(reads):
            reading = await library.read(tree.uri(middle, FILES[0]))
        assert reading.content == content, "the change was not seen"
    return {_RESCAN: Cost.median(rescans), _CHANGED: Cost.median(reads)}


def main(root: str, size: str) -> None:
    costs = anyio.run(_round, Tree(Path(root), int(size)))
    print(json.dumps({name: [cost.wall, cost.cpu] for name, cost in costs.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
