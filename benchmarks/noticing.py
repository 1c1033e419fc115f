"""Measure how soon and how often clients are notified of a change on disk."""

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.distributions import Distribution, Statistic
from benchmarks.listening import KINDS, ListeningClient
from benchmarks.plan import Plan, serve
from benchmarks.results import Unit
from benchmarks.stdio import PATIENCE, NoAnswerError
from benchmarks.trees import Tree

_QUIET = 0.5
"""Seconds without a notification after which no more are expected."""
_IDLE = 2.0


@dataclass(frozen=True, slots=True)
class _Edit:
    """One kind of change, and how many notifications of each kind it must cause."""

    name: str
    make: Callable[[Tree, int, int], object]
    """Makes the change, given the tree, a skill's index and the number of the edit."""
    expected: Mapping[str, int]


def _subscribed(index: int) -> int:
    """Return the subscribed skill that belongs to `index`. Its body is edited, not its description."""
    return index + 1


def _added(tree: Tree, number: int) -> int:
    return tree.size + 1 + number


_EDITS = (
    _Edit(
        "a description is edited",
        lambda tree, index, _: tree.describe(index),
        {"prompts": 1, "resources": 1},
    ),
    _Edit(
        "a body is edited, with a subscription",
        lambda tree, index, _: tree.rewrite(_subscribed(index)),
        {"updated": 1},
    ),
    _Edit(
        "a skill is added",
        lambda tree, _, number: tree.plant(_added(tree, number)),
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
    """Delays and numbers of notifications, and the CPU time of an idle server."""

    delays: Sequence[Distribution]
    notifications: Sequence[Distribution]
    idle: Sequence[Distribution]


@dataclass(frozen=True, slots=True)
class _Notified:
    """The delay of the first notification, and the number of each kind."""

    delay: float
    kinds: Counter[str]


_BySize: TypeAlias = dict[int, list[_Notified]]
"""The notifications after each change of one kind, by the size of the tree."""


def measure(trees: Sequence[Tree], plan: Plan) -> Noticing:
    found: dict[str, _BySize] = {edit.name: {} for edit in _EDITS}
    with ExitStack() as stack:
        clients = {tree.size: stack.enter_context(ListeningClient(serve(tree))) for tree in trees}
        for tree in trees:
            clients[tree.size].connect()
            warm_up(clients[tree.size], tree)
            for index in tree.spread(plan.edits):
                clients[tree.size].ask("resources/subscribe", uri=tree.uri(_subscribed(index)))
        idle = {size: [_idle(client)] for size, client in clients.items()}
        for number in range(plan.edits):
            for tree in trees:
                index = tree.spread(plan.edits)[number]
                for edit in _EDITS:
                    notified = _make(edit, clients[tree.size], tree, index, number)
                    found[edit.name].setdefault(tree.size, []).append(notified)
    for tree in trees:
        tree.trim()
    return Noticing(
        [_delays(name, each) for name, each in found.items()],
        [each for edit in _EDITS for each in _counts(edit, found[edit.name])],
        [
            Distribution(
                "CPU time of a second in which nothing happens", Unit.SECONDS, idle, (Statistic.MEDIAN,)
            )
        ],
    )


def warm_up(client: ListeningClient, tree: Tree) -> None:
    """Add a skill and wait for its notification, so that the server surely watches. The skill stays."""
    tree.plant(tree.size)
    if client.notifications(time.perf_counter() + PATIENCE, _QUIET)[0] is None:
        raise NoAnswerError("the server does not notify of changes")
    client.notifications(time.perf_counter() + 2 * _QUIET, 2 * _QUIET)


def _make(edit: _Edit, client: ListeningClient, tree: Tree, index: int, number: int) -> "_Notified":
    began = time.perf_counter()
    edit.make(tree, index, number)
    first, kinds = client.notifications(began + PATIENCE, _QUIET)
    return _Notified(math.inf if first is None else first - began, kinds)


def _delays(name: str, found: _BySize) -> Distribution:
    return Distribution(
        name, Unit.SECONDS, {size: [one.delay for one in each] for size, each in found.items()}
    )


def _counts(edit: _Edit, found: _BySize) -> list[Distribution]:
    return [
        Distribution(
            f"{edit.name}: `{kind}`",
            Unit.COUNT,
            {size: [one.kinds[kind] for one in each] for size, each in found.items()},
            (Statistic.RANGE,),
            expected=edit.expected.get(kind, 0),
        )
        for kind in KINDS
    ]


def _idle(client: ListeningClient) -> float:
    """Return the share of one CPU that an idle server uses."""
    before = client.spent()
    time.sleep(_IDLE)
    used = client.spent() - before
    return used.cpu / used.wall
