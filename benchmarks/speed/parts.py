"""The parts of a run. Each can run alone and adds its measurements to those of the others."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks import indexing, noticing
from benchmarks.plan import Plan
from benchmarks.results import Unit
from benchmarks.speed.contestants import (
    AGENTSKILLS,
    BARE,
    FASTMCP,
    OURS,
    STDIO,
    TYPESCRIPT,
    Contestant,
    contestants,
)
from benchmarks.speed.ground import (
    COLD,
    COLD_CPU,
    FLOOR,
    LISTING,
    MEMORY,
    MEMORY_ALL,
    NOTICED,
    RESCAN,
    SCAN,
    WARM,
    WARM_CPU,
    Ground,
)
from benchmarks.speed.loads import PATIENCE, NoAnswerError
from benchmarks.speed.measures import TOO_LONG, Measure
from benchmarks.speed.processes import Running
from benchmarks.speed.reads import edited, first_reads, reading, traced
from benchmarks.trees import Tree

_REST = 1.0
"""Seconds for a server to free temporary memory."""


def starting(ground: Ground) -> None:
    """Measure the time from process start to the first `skills/list`, and the memory after use."""
    chosen = [each for each in contestants() if each.name in {OURS, TYPESCRIPT, FASTMCP, AGENTSKILLS}]
    bare = next(each for each in contestants() if each.name == BARE)
    for size in ground.scale.sizes:
        tree = ground.tree(size)
        for turn in range(ground.rounds(size)):
            _start(ground, bare, tree, known=False, none=True)
            for each in chosen if turn % 2 == 0 else reversed(chosen):
                if size > each.most or (each.is_slow and turn > 0 and size >= each.most):
                    continue
                _start(ground, each, tree, known=False, use=turn == 0)
                if each.name == OURS:
                    _start(ground, each, tree, known=True)


def _start(
    ground: Ground, contestant: Contestant, tree: Tree, *, known: bool, use: bool = False, none: bool = False
) -> None:
    cache = ground.cache(f"kept-{tree.size}" if known else f"none-{time.monotonic_ns()}")
    if known and not Path(cache["SKILLWIRE_CACHE_DIR"]).exists():
        with Running(contestant, STDIO, tree.root, cache) as first:  # an earlier run that fills the cache
            first.ask("skills/list")
            _end(first)
    with Running(contestant, STDIO, None if none else tree.root, cache) as running:
        try:
            running.ask("skills/list")
            spent = running.spent()
            wall, cpu = spent.wall, spent.cpu
        except NoAnswerError:
            wall = cpu = TOO_LONG
        of = partial(Measure, "starting", contestant=contestant.name, transport=STDIO, size=tree.size)
        ground.measures.add(of(WARM if known else COLD, unit=Unit.SECONDS), wall)
        ground.measures.add(of(WARM_CPU if known else COLD_CPU, unit=Unit.SECONDS), cpu)
        if (use or none) and wall < TOO_LONG:
            if not none and contestant.name != FASTMCP:
                _use(running, tree)
            ground.measures.add(of(MEMORY, unit=Unit.BYTES), _memory_at_rest(running))
            running.ask("server/discover")
            ground.measures.add(of(MEMORY_ALL, unit=Unit.BYTES), _memory_at_rest(running))


def _use(running: Running, tree: Tree) -> None:
    _list_all(running)
    for index in tree.spread(50):
        running.ask("resources/read", uri=tree.uri(index))


def _memory_at_rest(running: Running) -> int:
    time.sleep(_REST)
    return running.memory()


def _end(running: Running) -> None:
    """Close stdin, and wait until the server has written its cache and ended."""
    assert running.process.stdin is not None
    running.process.stdin.close()
    running.process.wait(PATIENCE)


def _list_all(running: Running) -> float:
    """Return the seconds to list every page; `TOO_LONG` if it does not finish in time."""
    begun = time.perf_counter()
    cursor: dict[str, str] = {}
    while True:
        if time.perf_counter() - begun > PATIENCE:
            return TOO_LONG
        try:
            result = running.ask("skills/list", **cursor)
        except NoAnswerError:
            return TOO_LONG
        if (more := result.get("nextCursor")) is None:
            return time.perf_counter() - begun
        cursor = {"cursor": more}


def listing(ground: Ground) -> None:
    """Measure listing every page of `skills/list` of running servers."""
    for size in ground.scale.sizes[:3]:
        tree = ground.tree(size)
        with ExitStack() as stack:
            running = [
                stack.enter_context(Running(each, STDIO, tree.root, ground.cache("kept")))
                for each in contestants()
                if not each.is_floor and size <= each.most
            ]
            for each in running:
                each.ask("skills/list")  # wait until every server has started
            slow: set[str] = set()
            for turn in range(ground.rounds(size)):
                for each in running if turn % 2 == 0 else reversed(running):
                    if each.name in slow:
                        continue
                    seconds = _list_all(each)
                    ground.measures.add(
                        Measure("listing", LISTING, each.name, STDIO, size, Unit.SECONDS), seconds
                    )
                    if seconds > PATIENCE / 10:
                        slow.add(each.name)


def noticing_edits(ground: Ground) -> None:
    """Measure the time from an edit to the notification of a client."""
    plan = Plan((ground.middle,), 1, 1, 1, ground.scale.edits, 0, 0.0, ())
    delays = noticing.measure([ground.tree(ground.middle)], plan).delays
    (edited,) = (each for each in delays if each.name == "a description is edited")
    for sample in edited.samples[ground.middle]:
        ground.measures.add(Measure("noticing", NOTICED, OURS, STDIO, ground.middle, Unit.SECONDS), sample)


def scanning(ground: Ground) -> None:
    """Measure a cold and a warm scan, and hashing the same bytes for comparison."""
    for size in ground.scale.sizes:
        tree = ground.tree(size)
        for _ in range(ground.rounds(size)):
            costs = indexing.round_apart(tree)
            floor = costs[indexing.WALK].wall + costs[indexing.READ].wall
            for what, seconds in (
                (SCAN, costs[indexing.COLD].wall),
                (RESCAN, costs[indexing.WARM].wall),
                (FLOOR, floor),
            ):
                ground.measures.add(Measure("scanning", what, OURS, "", size, Unit.SECONDS), seconds)


PARTS: dict[str, Callable[[Ground], None]] = {
    "starting": starting,
    "listing": listing,
    "reading": reading,
    "first-reads": first_reads,
    "traced": traced,
    "edited": edited,
    "noticing": noticing_edits,
    "scanning": scanning,
}
