"""The parts that measure requests to running servers."""

import os
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from threading import Event, Thread

import orjson

from benchmarks.results import Unit
from benchmarks.speed.contestants import FILE, HTTP, OURS, SLOW_STARTS, STAT, STDIO, Contestant, contestants
from benchmarks.speed.ground import (
    EDITED,
    EDITS_PER_SECOND,
    IN_FLIGHT,
    ONCE,
    QUIET,
    READ,
    TRACED,
    UNTRACED,
    Ground,
)
from benchmarks.speed.loads import PATIENCE, Turn
from benchmarks.speed.measures import Measure
from benchmarks.speed.processes import Running, answer_of
from benchmarks.speed.servers.floors import read_answer
from benchmarks.trees import Tree


def reading(ground: Ground) -> None:
    """Measure `resources/read` and `skills/get`, one at a time and many in flight, over stdio and HTTP."""
    tree = ground.tree(ground.middle)
    small = [tree.uri(index) for index in tree.spread(50)]
    for transport in (STDIO, HTTP):
        for what, method, uris in (
            (READ, "resources/read", small),
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
                Running(each, transport, answer if each.sends_answer else tree.root, ground.cache("kept"))
            )
            for each in contestants()
            if transport in each.transports and tree.size <= each.most and each.answers(method)
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
    for transport in (STDIO, HTTP):
        entered = [
            each
            for each in contestants()
            if transport in each.transports and tree.size <= each.most and not each.sends_answer
        ]
        for turn in range(ground.scale.reads):
            if transport == STDIO:
                _note_file(ground, uris)
            for each in entered if turn % 2 == 0 else reversed(entered):
                if each.is_slow and turn >= SLOW_STARTS:
                    continue
                with Running(each, transport, tree.root, ground.cache("kept")) as running:
                    _wait_until_started(running, each, uris[0])
                    questions = [running.question("resources/read", uri=uri) for uri in uris]
                    made = running.turn(questions, IN_FLIGHT, len(uris), PATIENCE)
                    _note(ground, running, ONCE, made, part="first-reads")


def _wait_until_started(running: Running, contestant: Contestant, uri: str) -> None:
    if contestant.is_floor:
        running.ask("resources/read", uri=uri)
    else:
        running.ask("skills/list")


def traced(ground: Ground) -> None:
    """Measure reads with a different trace context in each request, and without, in turns on one server."""
    tree = ground.tree(ground.middle)
    uris = [tree.uri(index) for index in tree.spread(50)]
    ours = next(each for each in contestants() if each.name == OURS)
    for transport in (STDIO, HTTP):
        with Running(ours, transport, tree.root, ground.cache("kept")) as running:
            plain = [running.question("resources/read", uri=uri) for uri in uris]
            with_trace = [
                running.question(
                    "resources/read", trace=f"00-{1:032x}-{number:016x}-01", uri=uris[number % 50]
                )
                for number in range(1, ground.scale.traces + 1)
            ]
            running.ask("resources/read", uri=uris[0])
            # Warm up: every answer is cached, and everything is imported.
            running.turn(plain, 1, 2 * len(uris), PATIENCE)
            sent = running.turn(with_trace, 1, len(uris), PATIENCE).requests
            for turn in range(ground.scale.reads):
                for what in (UNTRACED, TRACED) if turn % 2 == 0 else (TRACED, UNTRACED):
                    # Start after the trace contexts that were already sent.
                    questions = plain if what == UNTRACED else [*with_trace[sent:], *with_trace[:sent]]
                    made = running.turn(questions, IN_FLIGHT, len(with_trace), ground.scale.turn)
                    sent = (sent + made.requests) % len(with_trace) if what == TRACED else sent
                    _note(ground, running, f"{what}, {IN_FLIGHT} in flight", made, part="traced")


def edited(ground: Ground) -> None:
    """Measure repeated reads while other skills are edited, and while none are, in turns on one server."""
    tree = ground.tree(ground.middle)
    read = tree.spread(50)
    others = [index for index in range(tree.size) if index not in set(read)]
    ours = next(each for each in contestants() if each.name == OURS)
    for transport in (STDIO, HTTP):
        with Running(ours, transport, tree.root, ground.cache("edited")) as running:
            questions = [running.question("resources/read", uri=tree.uri(index)) for index in read]
            running.ask("resources/read", uri=tree.uri(read[0]))
            running.turn(questions, 1, 2 * len(questions), PATIENCE)  # warm up: every answer is cached
            for turn in range(ground.scale.rounds):
                for what in (QUIET, EDITED) if turn % 2 == 0 else (EDITED, QUIET):
                    with _editing(tree, others) if what == EDITED else nullcontext():
                        made = running.turn(questions, IN_FLIGHT, 10_000_000, ground.scale.busy_turn)
                    _note(ground, running, f"{what}, {IN_FLIGHT} in flight", made, part="edited")


@contextmanager
def _editing(tree: Tree, indexes: Sequence[int]) -> Generator[None]:
    """Change the description of one skill after the other while the block runs."""
    done = Event()

    def edit() -> None:
        for index in cycle(indexes):
            if done.wait(1 / EDITS_PER_SECOND):
                return
            tree.describe(index)

    thread = Thread(target=edit)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _note_file(ground: Ground, uris: Sequence[str]) -> None:
    """Measure the CPU time to look up, open, read, hash and encode a file, once for every file."""
    tree = ground.tree(ground.middle)
    begun = time.process_time()
    for index, uri in enumerate(uris):
        orjson.dumps(read_answer(str(tree.folder(index) / "SKILL.md"), uri))
    spent = (time.process_time() - begun) / len(uris)
    of = Measure("first-reads", f"{ONCE}: CPU a request", FILE, STDIO, tree.size, Unit.SECONDS)
    ground.measures.add(of, spent)


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
