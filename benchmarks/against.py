"""Compare the speed of this checkout with an earlier commit, in turns within one run."""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from benchmarks.machine import Machine
from benchmarks.speed.contestants import HTTP, OURS, ROOT, STDIO, Contestant, contestants
from benchmarks.speed.loads import PATIENCE
from benchmarks.speed.processes import Running
from benchmarks.trees import Tree, grow, settle

LEAST = 0.95
"""A median ratio below this counts as slower, if the confidence interval agrees."""
_TURN, _IN_FLIGHT, _FEW = 0.3, 16, 100
_SETTLED = 0.7
"""Seconds after the start until a server is idle."""
_DRAWS = 2000
_LARGE = (b"x" * 99 + b"\n") * 10_000

Environments = Mapping[str, Mapping[str, str]]
"""The environment variables of each of the two servers, by name."""


@dataclass(slots=True)
class Pair:
    """One measurement of both servers in each round. Larger is better."""

    what: str
    samples: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])

    @property
    def ratios(self) -> list[float]:
        return [now / before for now, before in self.samples]

    def interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval of the median ratio, by bootstrapping."""
        draw = random.Random(0)
        medians = sorted(
            statistics.median(draw.choices(self.ratios, k=len(self.ratios))) for _ in range(_DRAWS)
        )
        return medians[int(_DRAWS * 0.025)], medians[int(_DRAWS * 0.975)]

    @property
    def is_slower(self) -> bool:
        return statistics.median(self.ratios) < LEAST and self.interval()[1] < 1


@contextmanager
def _sources_of(revision: str) -> Generator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "before"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(place), revision], check=True)
        try:
            yield place / "src"
        finally:
            subprocess.run([*git, "remove", "--force", str(place)], check=True)


def _reads(pair: Environments, tree: Tree, transport: str, rounds: int) -> Iterator[Pair]:
    """Yield the requests a second of both servers, for each kind of request."""
    small = [tree.uri(index) for index in tree.spread(50)]
    kinds: Sequence[tuple[str, str, Sequence[str]]] = (
        ("`resources/read` of 3 KB, repeated", "resources/read", small),
        ("`resources/read` of 3 KB, each once", "resources/read", [tree.uri(i) for i in range(tree.size)]),
        ("`resources/read` of 1 MB", "resources/read", [tree.uri(0, "large.txt")]),
        ("`skills/get`", "skills/get", small),
        ("`skills/list`, first page", "skills/list", [""]),
    )
    for what, method, uris in kinds:
        found = {number: Pair(f"{what}, {number} in flight, {transport}") for number in (1, _IN_FLIGHT)}
        for turn in range(rounds):
            for number, of in found.items():
                speed = _speeds(_in_turn(pair, turn), tree, transport, _Load(method, uris, number))
                of.samples.append((speed["now"], speed["before"]))
        yield from found.values()


@dataclass(frozen=True, slots=True)
class _Load:
    method: str
    uris: Sequence[str]
    in_flight: int

    @property
    def once(self) -> bool:
        """Whether each URI is requested only once, so that nothing is cached."""
        return len(self.uris) > _FEW


def _speeds(
    both: Sequence[tuple[str, Mapping[str, str]]], tree: Tree, transport: str, load: _Load
) -> dict[str, float]:
    """Start both servers, and return the requests that each answers in a second, measured alternately."""
    with ExitStack() as stack:
        running = [stack.enter_context(Running(_ours(), transport, tree.root, env)) for _, env in both]
        questions = [
            [each.question(load.method, **({"uri": uri} if uri else {})) for uri in load.uris]
            for each in running
        ]
        for each in running:
            each.ask("skills/list")
        time.sleep(_SETTLED)
        seen: list[list[float]] = [[], []]
        for index in (0, 1) if load.once else (0, 1, 0, 1, 1, 0):
            most, seconds = (len(load.uris), PATIENCE) if load.once else (100_000, _TURN)
            seen[index].append(
                running[index].turn(questions[index], load.in_flight, most, seconds).per_second
            )
        return {name: statistics.fmean(seen[index][-2:]) for index, (name, _) in enumerate(both)}


def _starts(pair: Environments, tree: Tree, folder: Path, rounds: int) -> Iterator[Pair]:
    cold, warm, memory = (
        Pair(what) for what in ("cold start", "warm start", "memory after a list and 50 reads")
    )
    for turn in range(rounds):
        seen: dict[str, tuple[float, float, float]] = {}
        for name, env in _in_turn(pair, turn):
            first, _ = _start(tree, {**env, "SKILLWIRE_CACHE_DIR": str(folder / f"{turn}-{name}")})
            again, used = _start(tree, {**env, "SKILLWIRE_CACHE_DIR": str(folder / f"kept-{name}")})
            seen[name] = (1 / first, 1 / again, 1 / used)
        for index, of in enumerate((cold, warm, memory)):
            of.samples.append((seen["now"][index], seen["before"][index]))
    yield from (cold, warm, memory)


def _start(tree: Tree, env: Mapping[str, str]) -> tuple[float, int]:
    """Return the seconds to the first list, and the memory after use. Ending writes the scan cache."""
    with Running(_ours(), STDIO, tree.root, env) as running:
        running.ask("skills/list")
        seconds = running.spent().wall
        for index in tree.spread(50):
            running.ask("resources/read", uri=tree.uri(index))
        memory = running.memory()
        assert running.process.stdin is not None
        running.process.stdin.close()
        running.process.wait(PATIENCE)
        return seconds, memory


def _in_turn(pair: Environments, turn: int) -> list[tuple[str, Mapping[str, str]]]:
    """Return both, in alternating order."""
    both = list(pair.items())
    return both if turn % 2 else both[::-1]


def _ours() -> Contestant:
    return next(each for each in contestants() if each.name == OURS)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench against", description=__doc__)
    parser.add_argument("revision", help="the commit to compare with")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--skills", type=int, default=1000)
    parser.add_argument("--only", choices=["starts", STDIO, HTTP], help="measure only this")
    chosen = parser.parse_args(arguments)
    print(f"{Machine.here()}\n", flush=True)
    print(f"Above 1: faster than, or less memory than, `{chosen.revision}`. {chosen.rounds} rounds.\n")
    print("| what | median ratio | interval |\n| --- | ---: | --- |", flush=True)
    slower = 0
    with _sources_of(chosen.revision) as before, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tree = grow(folder / "skills", chosen.skills)
        (tree.folder(0) / "large.txt").write_bytes(_LARGE)
        settle()
        pair: Environments = {
            label: {"PYTHONPATH": str(source), "SKILLWIRE_CACHE_DIR": str(folder / f"cache-{label}")}
            for label, source in (("now", ROOT / "src"), ("before", before))
        }
        parts = {
            "starts": _starts(pair, tree, folder, chosen.rounds),
            STDIO: _reads(pair, tree, STDIO, chosen.rounds),
            HTTP: _reads(pair, tree, HTTP, chosen.rounds),
        }
        chosen_parts = (part for name, part in parts.items() if chosen.only in {None, name})
        for each in chain.from_iterable(chosen_parts):
            low, high = each.interval()
            mark = " **slower**" if each.is_slower else ""
            print(
                f"| {each.what} | {statistics.median(each.ratios):.2f}{mark} | {low:.2f} to {high:.2f} |",
                flush=True,
            )
            slower += each.is_slower
    print(f"\n{slower} slower; measured on {time.strftime('%Y-%m-%d')}.")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
