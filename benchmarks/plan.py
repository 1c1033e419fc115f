"""Sizes, repetitions and order of the measurements."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.trees import Tree


@dataclass(frozen=True, slots=True)
class Plan:
    """The sizes of the trees, and the repetitions of each measurement."""

    sizes: tuple[int, ...]
    rounds: int
    """Rounds of measurements that start a process. Each round covers every size."""
    batches: int
    """Batches of requests to each running server in a round."""
    batch: int
    """Requests of one kind in a batch."""
    edits: int
    """Changes of each kind to measure."""
    burst: int
    """Files in a burst. The smallest tree has no burst."""
    pings: float
    """Seconds of pings to an idle server."""
    clients: tuple[int, ...]
    """Numbers of running programs that offer live skills."""


FULL = Plan(
    sizes=(100, 1_000, 10_000),
    rounds=3,
    batches=6,
    batch=20,
    edits=20,
    burst=10_000,
    pings=5.0,
    clients=(10, 100, 1_000),
)
QUICK = Plan(sizes=(100, 300), rounds=1, batches=2, batch=5, edits=2, burst=400, pings=0.5, clients=(2, 20))


def serve(tree: Tree) -> list[str]:
    """Return the command that serves a tree on stdio."""
    return [sys.executable, "-m", "skillwire", "serve", str(tree.root)]


_IN_CODE = """
import sys
from pathlib import Path
from skillwire import Skill, SkillServer
root = Path(sys.argv[1])
folders = sorted(file.parent for file in root.rglob("SKILL.md"))
skills = [Skill.from_dir(each).with_path(each.relative_to(root).as_posix()) for each in folders]
SkillServer("benchmark").add(*skills).run()
"""


def serve_in_code(tree: Tree) -> list[str]:
    """Return the command that serves the same skills from a `SkillServer`."""
    return [sys.executable, "-c", _IN_CODE, str(tree.root)]


def turns(trees: Sequence[Tree], rounds: int) -> Iterator[Tree]:
    """Yield every tree once a round, so that load on the machine affects all of them equally."""
    for turn in range(rounds):
        # Reverse every second round, so that no tree always follows the largest.
        yield from trees if turn % 2 == 0 else reversed(trees)
