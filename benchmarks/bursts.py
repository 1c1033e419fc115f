"""Measure a burst of new files in the served folder: delays for clients, and time to a complete catalog."""

from collections.abc import Sequence

from benchmarks.census import Census
from benchmarks.distributions import Distribution, Statistic
from benchmarks.listening import KINDS, ListeningClient
from benchmarks.noticing import warm_up
from benchmarks.pinging import ping, ping_during
from benchmarks.plan import Plan, serve, turns
from benchmarks.results import Unit
from benchmarks.trees import Tree, settle
from benchmarks.writing import Burst, writer

_WAITS = (Statistic.MEDIAN, Statistic.P99, Statistic.WORST)
_SPAN = (Statistic.MEDIAN, Statistic.WORST)


def measure(trees: Sequence[Tree], elsewhere: Tree, plan: Plan) -> list[Distribution]:
    """Measure bursts in `trees`, and for comparison in `elsewhere`, which is not served."""
    rows: dict[str, dict[int, list[float]]] = {}
    for tree in turns(trees, plan.rounds):
        for name, samples in _round(tree, elsewhere, plan).items():
            rows.setdefault(name, {}).setdefault(tree.size, []).extend(samples)
    return [_distribution(name, samples) for name, samples in rows.items()]


def _round(tree: Tree, elsewhere: Tree, plan: Plan) -> dict[str, list[float]]:
    alone = _write_alone(Burst(elsewhere, plan.burst))
    elsewhere.trim()
    settle()
    with ListeningClient(serve(tree)) as client:
        client.connect()
        early = ping(client, plan.pings)
        warm_up(client, tree)
        idle = ping(client, plan.pings)
        edited = ping(client, plan.pings, tree.describe)
        beside = ping_during(client, Burst(elsewhere, plan.burst), None)
        burst = Burst(tree, plan.burst)
        during = ping_during(client, burst, Census(burst))
    for each in (tree, elsewhere):
        each.trim()
    return {
        "ping, right after the handshake": early.waits,
        "ping, nothing else happens": idle.waits,
        "ping, a description is edited four times a second": edited.waits,
        "ping, the burst is written elsewhere": beside.waits,
        "ping, the burst is written to the served folder": during.waits,
        "the burst is written, without a server": [alone],
        "the burst is written, elsewhere": [beside.written],
        "the burst is written, to the served folder": [during.written],
        "from its first file to the complete catalog": [during.complete],
        **{f"notifications in all: `{kind}`": [during.notifications[kind]] for kind in KINDS},
    }


def _write_alone(burst: Burst) -> float:
    with writer(burst) as writing:
        writing.go()
        return writing.seconds()


def _distribution(name: str, samples: dict[int, list[float]]) -> Distribution:
    if name.startswith("notifications"):
        return Distribution(name, Unit.COUNT, samples, (Statistic.RANGE,))
    return Distribution(name, Unit.SECONDS, samples, _WAITS if name.startswith("ping") else _SPAN)
