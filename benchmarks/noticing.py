"""From a change on disk to what a client is told: how soon, and how often."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from benchmarks.distributions import Distribution, Statistic
from benchmarks.listening import KINDS, ListeningClient
from benchmarks.plan import Plan, serve, turns
from benchmarks.results import Unit
from benchmarks.stdio import PATIENCE, NoAnswerError
from benchmarks.trees import Tree

_QUIET = 0.5
"""Seconds without news after which no more is expected."""
_IDLE = 2.0


@dataclass(frozen=True, slots=True)
class _Edit:
    """One kind of change, and how many notifications of each kind it must cause."""

    name: str
    make: Callable[[Tree, int, int], None]
    """What is done, given a skill of the tree and the number of the edit."""
    expected: Mapping[str, int]


def _subscribed(index: int) -> int:
    """Return the skill whose body is edited when the description of another is."""
    return index + 1


def _added(tree: Tree, number: int) -> int:
    return tree.size + 1 + number


_EDITS = (
    _Edit(
        "a description is edited",
        lambda tree, index, number: tree.describe(index, number + 1),
        {"prompts": 1, "resources": 1},
    ),
    _Edit(
        "a body is edited, with a subscription",
        lambda tree, index, number: tree.rewrite(_subscribed(index), number + 1),
        {"updated": 1},
    ),
    _Edit(
        "a skill is added",
        lambda tree, _, number: tree.plant(_added(tree, number)) and None,
        {"prompts": 1, "resources": 1},
    ),
    _Edit(
        "a skill is removed",
        lambda tree, _, number: tree.uproot(_added(tree, number)),
        {"prompts": 1, "resources": 1},
    ),
)


@dataclass(frozen=True, slots=True)
class Noticing:
    """How soon clients were told, how often, and what it costs to wait for something to tell."""

    delays: Sequence[Distribution]
    notifications: Sequence[Distribution]
    idle: Distribution


@dataclass(slots=True)
class _Heard:
    delays: dict[int, list[float]] = field(default_factory=dict[int, list[float]])
    kinds: dict[int, list[Counter[str]]] = field(default_factory=dict[int, list[Counter[str]]])


def measure(trees: Sequence[Tree], plan: Plan) -> Noticing:
    heard = {edit.name: _Heard() for edit in _EDITS}
    with ExitStack() as stack:
        clients = {tree.size: stack.enter_context(ListeningClient(serve(tree))) for tree in trees}
        for tree in trees:
            warm_up(clients[tree.size], tree)
            for index in tree.spread(plan.edits):
                clients[tree.size].ask("resources/subscribe", uri=tree.uri(_subscribed(index)))
        idle = {size: [_idle(client)] for size, client in clients.items()}
        for number in range(plan.edits):
            for tree in turns(trees, 1):
                for edit in _EDITS:
                    _make(edit, clients[tree.size], tree, number, plan.edits, heard[edit.name])
    for tree in trees:
        tree.trim()
    return Noticing(
        [Distribution(name, Unit.SECONDS, each.delays) for name, each in heard.items()],
        [each for edit in _EDITS for each in _counts(edit, heard[edit.name])],
        Distribution("CPU time in a second of nothing", Unit.SECONDS, idle, (Statistic.MEDIAN,)),
    )


def warm_up(client: ListeningClient, tree: Tree) -> None:
    """Wait until the server watches: until it tells of a skill that comes. It stays, and so does its team."""
    client.connect()
    until = time.perf_counter() + PATIENCE
    # A page comes before the watcher stands. What it missed, it looks for, but that takes longer.
    client.ask("skills/list")
    tree.plant(tree.size)
    if client.told(until, _QUIET)[0] is None:
        raise NoAnswerError("the server does not tell of changes")
    client.told(time.perf_counter() + 2 * _QUIET, 2 * _QUIET)


def _make(
    edit: _Edit, client: ListeningClient, tree: Tree, number: int, edits: int, heard: _Heard
) -> None:
    index = tree.spread(edits)[number]
    began = time.perf_counter()
    edit.make(tree, index, number)
    first, kinds = client.told(began + PATIENCE, _QUIET)
    heard.delays.setdefault(tree.size, []).append(math.inf if first is None else first - began)
    heard.kinds.setdefault(tree.size, []).append(kinds)


def _counts(edit: _Edit, heard: _Heard) -> list[Distribution]:
    return [
        Distribution(
            f"{edit.name}: `{kind}`",
            Unit.COUNT,
            {size: [kinds[kind] for kinds in each] for size, each in heard.kinds.items()},
            (Statistic.RANGE,),
            expected=edit.expected.get(kind, 0),
        )
        for kind in KINDS
    ]


def _idle(client: ListeningClient) -> float:
    """Return the share of one CPU that a server needs while nothing happens."""
    before = client.spent()
    time.sleep(_IDLE)
    used = client.spent() - before
    return used.cpu / used.wall
