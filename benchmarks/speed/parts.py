"""The parts of a run. Each can run alone and adds its measurements to those of the others."""

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks import indexing, noticing
from benchmarks.plan import Plan
from benchmarks.results import Unit
from benchmarks.speed.contestants import (
    BARE,
    FASTMCP,
    HTTP,
    OURS,
    STAT,
    STDIO,
    TYPESCRIPT,
    Contestant,
    contestants,
)
from benchmarks.speed.loads import PATIENCE, NoAnswerError, Turn
from benchmarks.speed.measures import TOO_LONG, Measure, Measures
from benchmarks.speed.processes import Running, answer_of
from benchmarks.talk import say
from benchmarks.trees import SKILL_BYTES, Tree, grow, settle

LARGE_BYTES = 1 << 20
IN_FLIGHT = 16
_REST = 1.0
"""Seconds for a server to free temporary memory."""

COLD, WARM = (
    "start to the first `skills/list`, nothing known",
    "start to the first `skills/list`, digests known",
)
COLD_CPU, WARM_CPU = f"{COLD}: CPU", f"{WARM}: CPU"
MEMORY = "memory (RSS) after every page of `skills/list` and 50 reads"
MEMORY_ALL = f"{MEMORY}, and `server/discover`"
LISTING = "every page of `skills/list`"
NOTICED = "edit of a description to the notification"
SCAN, RESCAN, FLOOR = "cold scan", "warm scan", "walk, stat, open, read and hash every file, one thread"


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes and repetitions of a run."""

    sizes: tuple[int, ...]
    rounds: int
    large_rounds: int
    """Rounds with trees of more than `often` skills."""
    often: int
    reads: int
    """Rounds of reads. Microseconds need more samples than seconds."""
    turn: float
    """Seconds of each turn of a program."""
    edits: int


FULL = Scale((100, 1_000, 5_000, 20_000), rounds=5, large_rounds=3, often=1_000, reads=9, turn=0.4, edits=20)
QUICK = Scale((20, 100), rounds=1, large_rounds=1, often=100, reads=1, turn=0.05, edits=2)


@dataclass(slots=True)
class Ground:
    """What the parts of a run share: measurements, caches, and trees, which are written on first use."""

    folder: Path
    scale: Scale
    measures: Measures

    @property
    def middle(self) -> int:
        """The tree size that all programs are measured with."""
        return self.scale.sizes[1]

    def tree(self, size: int) -> Tree:
        root = self.folder / f"tree-{size}"
        if not root.exists():
            say(f"writing {size:,} skills")
            tree = grow(root, size)
            large = tree.folder(0) / "large.txt"
            large.write_bytes((b"x" * 99 + b"\n") * (LARGE_BYTES // 100))
            settle()
        return Tree(root, size)

    def rounds(self, size: int) -> int:
        scale = self.scale
        return scale.rounds if size <= scale.often else 1 if size > 10 * scale.often else scale.large_rounds

    def cache(self, name: str) -> dict[str, str]:
        """Return environment variables that put Skillwire's cache into a folder of this name."""
        return {"SKILLWIRE_CACHE_DIR": str(self.folder / f"cache-{name}"), "SKILLWIRE_MAX_ENTRIES": "1000000"}


def starting(ground: Ground) -> None:
    """Measure the time from process start to the first `skills/list`, and the memory after use."""
    chosen = [each for each in contestants() if each.name in {OURS, TYPESCRIPT, FASTMCP}]
    bare = next(each for each in contestants() if each.name == BARE)
    for size in ground.scale.sizes:
        tree = ground.tree(size)
        for turn in range(ground.rounds(size)):
            _start(ground, bare, tree, known=False, none=True)
            for each in chosen if turn % 2 == 0 else reversed(chosen):
                if size > each.most or (each.name == FASTMCP and turn > 0 and size >= each.most):
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


def reading(ground: Ground) -> None:
    """Measure `resources/read` and `skills/get`, one at a time and many in flight, over stdio and HTTP."""
    tree = ground.tree(ground.middle)
    small = [tree.uri(index) for index in tree.spread(50)]
    for transport in (STDIO, HTTP):
        for what, method, uris in (
            (f"`resources/read` of {SKILL_BYTES // 1024} KB", "resources/read", small),
            ("`resources/read` of 1 MB", "resources/read", [tree.uri(0, "large.txt")]),
            ("`skills/get`", "skills/get", small),
        ):
            _read(ground, transport, _Question(what, method, uris))


@dataclass(frozen=True, slots=True)
class _Question:
    what: str
    method: str
    uris: Sequence[str]


def _read(ground: Ground, transport: str, question: _Question) -> None:
    tree, method, uris = ground.tree(ground.middle), question.method, question.uris
    with ExitStack() as stack:
        answer = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "answer"
        ours = next(each for each in contestants() if each.name == OURS)
        with Running(ours, transport, tree.root, ground.cache("kept")) as first:
            answer.write_bytes(answer_of(first, method, uri=uris[0]))
        running = [
            stack.enter_context(
                Running(each, transport, answer if each.is_floor else tree.root, ground.cache("kept"))
            )
            for each in contestants()
            if transport in each.transports and tree.size <= each.most
        ]
        questions = {each.name: [each.question(method, uri=uri) for uri in uris] for each in running}
        for each in running:
            each.ask(method, uri=uris[0])  # raises if the server refuses it
            each.turn(questions[each.name], 1, len(uris), PATIENCE)  # warm up: request everything once
        for turn in range(ground.scale.reads):
            for each in running if turn % 2 == 0 else reversed(running):
                for in_flight in (1, IN_FLIGHT):
                    made = each.turn(questions[each.name], in_flight, 100_000, ground.scale.turn)
                    _note(ground, each, f"{question.what}, {in_flight} in flight", made)
            if transport == STDIO and uris[0] == tree.uri(0) and method == "resources/read":
                _note_stat(ground, question.what)


def first_reads(ground: Ground) -> None:
    """Measure one `resources/read` of every skill on new servers, so that no answer is cached."""
    tree = ground.tree(ground.middle)
    uris = [tree.uri(index) for index in range(tree.size)]
    what = f"`resources/read` of {SKILL_BYTES // 1024} KB, each file once, {IN_FLIGHT} in flight"
    for transport in (STDIO, HTTP):
        entered = [
            each
            for each in contestants()
            if transport in each.transports and tree.size <= each.most and not each.is_floor
        ]
        for turn in range(ground.scale.reads):
            for each in entered if turn % 2 == 0 else reversed(entered):
                with Running(each, transport, tree.root, ground.cache("kept")) as running:
                    running.ask("skills/list")  # wait until it has started
                    questions = [running.question("resources/read", uri=uri) for uri in uris]
                    made = running.turn(questions, IN_FLIGHT, len(uris), PATIENCE)
                    _note(ground, running, what, made, part="first-reads")


def _note(ground: Ground, running: Running, what: str, turn: Turn, part: str = "reading") -> None:
    for name, unit, figure in (
        ("requests a second", Unit.COUNT, turn.per_second),
        ("CPU a request", Unit.SECONDS, turn.cpu_each),
        ("p50", Unit.SECONDS, turn.percentile(50)),
        ("p99", Unit.SECONDS, turn.percentile(99)),
    ):
        of = Measure(part, f"{what}: {name}", running.name, running.transport, ground.middle, unit)
        ground.measures.add(of, figure)


def _note_stat(ground: Ground, what: str) -> None:
    """Measure the CPU time of one `stat` of a file that is read."""
    tree = ground.tree(ground.middle)
    files = [str(tree.folder(index) / "SKILL.md") for index in tree.spread(50)]
    begun = time.process_time()
    for _ in range(100):
        for file in files:
            os.stat(file)  # noqa: PTH116 - the call that the server makes
    spent = (time.process_time() - begun) / (100 * len(files))
    for in_flight in (1, IN_FLIGHT):
        of = f"{what}, {in_flight} in flight: CPU a request"
        ground.measures.add(Measure("reading", of, STAT, STDIO, tree.size, Unit.SECONDS), spent)


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
    "noticing": noticing_edits,
    "scanning": scanning,
}
