"""The cost of one change inside the process: rescan the folder, update the catalog, and write the lists.

    python -m benchmarks.amending ROOT SIZE EDITS

runs one round, in its own process.
"""

import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

import anyio

from benchmarks.costs import Cost, timed
from benchmarks.plan import Plan, turns
from benchmarks.results import Growth, Series, Table, series_of
from benchmarks.stdio import PATIENCE
from benchmarks.trees import Tree
from skillwire.features.base import Call
from skillwire.library.change import Change
from skillwire.library.compose import LabelledScan, compose
from skillwire.library.library import Library
from skillwire.protocol.messages import PROMPTS_LIST, RESOURCES_LIST, SKILLS_LIST, TOOLS_LIST
from skillwire.server.serve_options import ServeOptions, all_features
from skillwire.sources.base import EVERYWHERE, Locations, Scan, WatchFilter
from skillwire.sources.folder.source import FolderSource

_COMPOSE = "compose the whole catalog"
_COMPOSED = 3
_LISTS = {PROMPTS_LIST, RESOURCES_LIST, SKILLS_LIST, TOOLS_LIST}


def measure(trees: Sequence[Tree], plan: Plan) -> list[Series]:
    tables: dict[str, Table] = {}
    for tree in turns(trees, plan.rounds):
        for name, cost in _round_apart(tree, plan.edits).items():
            tables.setdefault(name, Table()).add(tree.size, cost)
        tree.trim()
    return [series for name, table in tables.items() for series in series_of(name, table, Growth.LINEAR)]


def _round_apart(tree: Tree, edits: int) -> dict[str, Cost]:
    command = [sys.executable, "-m", "benchmarks.amending", str(tree.root), str(tree.size), str(edits)]
    folder = Path(__file__).parents[1]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=folder, timeout=5 * PATIENCE)
    costs: dict[str, list[float]] = json.loads(printed.stdout)
    return {name: Cost(wall, cpu) for name, (wall, cpu) in costs.items()}


class _ManualSource(FolderSource):
    """A folder source that reports changes only when this benchmark sends them."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, keep_good=True)
        self.report, self._reported = anyio.create_memory_object_stream[Locations](1)
        self.looks: list[Cost] = []

    async def changes(self, watch_filter: WatchFilter | None = None) -> AsyncGenerator[Locations]:  # noqa: ARG002
        async for where in self._reported:
            yield where

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        with timed(self.looks):
            return await super().rescan(where)


class _Updates:
    """Makes one change after the other, and measures the library's update."""

    def __init__(self, source: _ManualSource, library: Library) -> None:
        self._source = source
        self._features = all_features(library, ServeOptions())
        self._changed = anyio.Event()
        self.costs: dict[str, list[Cost]] = {}
        library.listen(self._note)

    async def after(self, name: str, change: Callable[[], object], where: Sequence[Path]) -> None:
        """Make a change, and measure the time from its report until the new catalog is served."""
        change()
        self._changed = anyio.Event()
        self._source.looks.clear()
        with timed(self.costs.setdefault(f"update after {name}", [])):
            with anyio.fail_after(PATIENCE):
                await self._source.report.send(frozenset(map(str, where)))
                await self._changed.wait()
        self.costs.setdefault(f"update after {name}: of this, the look at the folder", []).extend(
            self._source.looks
        )
        with timed(self.costs.setdefault(f"lists after {name}", [])):
            await self.list_all()

    async def list_all(self) -> None:
        """Write the first page of every list, and the list of skills for models."""
        for feature in self._features:
            feature.instructions()
            for method, answer in feature.methods().items():
                if method in _LISTS:
                    await answer(Call())

    def _note(self, _: Change) -> None:
        self._changed.set()


async def _round(tree: Tree, edits: int) -> dict[str, Cost]:
    tree.plant(tree.size)  # the team's folder must exist before the measured changes
    source = _ManualSource(tree.root)
    library = Library([source])
    await library.load()
    updates = _Updates(source, library)
    with timed(updates.costs.setdefault("lists of a new library", [])):
        await updates.list_all()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        for number, index in enumerate(tree.spread(edits), start=1):
            file, folder = tree.folder(index) / "SKILL.md", tree.folder(tree.size + number)
            await updates.after("one edit", lambda: tree.describe(index), [file])  # noqa: B023
            added = [folder, folder / "SKILL.md", folder / "references", folder / "scripts"]
            await updates.after("one skill added", lambda: tree.plant(tree.size + number), added)  # noqa: B023
            await updates.after("one skill removed", lambda: tree.uproot(tree.size + number), added)  # noqa: B023
        tasks.cancel_scope.cancel()
    scan = await source.scan()
    composed: list[Cost] = []
    for _ in range(_COMPOSED):
        with timed(composed):
            compose([LabelledScan(source.label, scan)])
    return {name: Cost.median(costs) for name, costs in (updates.costs | {_COMPOSE: composed}).items()}


def main(root: str, size: str, edits: str) -> None:
    costs = anyio.run(_round, Tree(Path(root), int(size)), int(edits))
    print(json.dumps({name: [cost.wall, cost.cpu] for name, cost in costs.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
