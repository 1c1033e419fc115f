"""The performance targets, and whether they are reached."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.speed.contestants import (
    BARE,
    ECHO,
    FASTMCP,
    FILE,
    FILE_ROUTE,
    HTTP,
    OURS,
    ROUTE,
    STDIO,
    TYPESCRIPT,
)
from benchmarks.speed.ground import (
    COLD,
    EDITED,
    FLOOR,
    IN_FLIGHT,
    LISTING,
    MEMORY,
    MEMORY_ALL,
    NOTICED,
    ONCE,
    QUIET,
    READ,
    SCAN,
    TRACED,
    UNTRACED,
    WARM,
)
from benchmarks.speed.measures import Measures, paired


@dataclass(frozen=True, slots=True)
class Bar:
    """One target: the quantity, the other server, the required ratio and the measured one."""

    what: str
    against: str
    wanted: str
    found: float | None
    reached: bool

    @property
    def shown(self) -> str:
        if self.found is None:
            return "not measured"
        return "unlimited" if math.isinf(self.found) else f"{self.found:,.2f}"


def bars(measures: Measures, middle: int, large: int) -> Iterator[Bar]:
    """Yield every target. `middle` and `large` are the tree sizes: 1,000 and 5,000 in a full run."""
    many = f"{READ}, {IN_FLIGHT} in flight"
    rates = {
        STDIO: {FASTMCP: 30.0, TYPESCRIPT: 6.0, BARE: 12.0},
        HTTP: {FASTMCP: 10.0, TYPESCRIPT: 4.0, BARE: 2.5},
    }
    for transport, wanted in rates.items():
        for other, least in wanted.items():
            found = measures.ratio(f"{many}: requests a second", OURS, other, (transport, middle))
            yield _at_least(f"{many}, {transport}: requests a second", other, least, found)
    yield from _once_bars(measures, middle)
    for transport, floor, most in ((HTTP, ROUTE, 1.1), (STDIO, ECHO, 2.0)):
        for in_flight in (1, IN_FLIGHT):
            what = f"{READ}, {in_flight} in flight: CPU a request"
            found = measures.ratio(what, OURS, floor, (transport, middle))
            yield _at_most(f"{what}, {transport}", floor, most, found)
    for other, least in ((FASTMCP, 1000.0), (TYPESCRIPT, 1.5)):
        found = measures.ratio(LISTING, other, OURS, (STDIO, middle))
        yield _at_least(f"{LISTING}, {middle:,} skills: how many times as fast", other, least, found)
    found = measures.ratio(COLD, OURS, TYPESCRIPT, (STDIO, middle))
    yield _at_most(f"{COLD}, {middle:,} skills", TYPESCRIPT, 0.4, found)
    found = _against_none(measures, WARM, COLD, large)
    yield _at_most(f"{WARM}, {large:,} skills", f"{BARE} with none", 1.3, found)
    found = _scan_against_floor(measures, large)
    yield _at_most(f"{SCAN}, {large:,} skills", FLOOR, 2.0, found)
    for memory in (MEMORY, MEMORY_ALL):
        found = measures.ratio(memory, OURS, BARE, (STDIO, large))
        yield _at_most(f"{memory}, {large:,} skills", f"{BARE} with none", 1.6, found)
    noticed = measures.find(NOTICED, OURS, STDIO, middle)
    seconds = None if noticed is None else noticed.median
    yield Bar(
        f"{NOTICED}, {middle:,} skills: milliseconds",
        "itself",
        "under 150",
        None if seconds is None else seconds * 1000,
        reached=seconds is not None and seconds < 0.150,
    )


def _once_bars(measures: Measures, middle: int) -> Iterator[Bar]:
    """Yield the targets for reads that no cache answers, and for reads that a cache should still answer."""
    for transport, floor, most in ((STDIO, FILE, 4.0), (HTTP, FILE_ROUTE, 1.3)):
        what = f"{ONCE}: CPU a request"
        found = measures.ratio(what, OURS, floor, (transport, middle))
        yield _at_most(f"{what}, {transport}", floor, most, found)
    for other, least in ((TYPESCRIPT, 4.0), (FASTMCP, 30.0)):
        what = f"{ONCE}: requests a second"
        found = measures.ratio(what, OURS, other, (STDIO, middle))
        yield _at_least(f"{what}, {STDIO}", other, least, found)
    for what, usual, least in ((TRACED, UNTRACED, 0.9), (EDITED, QUIET, 0.8)):
        for transport in (STDIO, HTTP):
            one, two = (
                measures.find(f"{each}, {IN_FLIGHT} in flight: requests a second", OURS, transport, middle)
                for each in (what, usual)
            )
            found = None if one is None or two is None else paired(one.samples, two.samples)
            shown = f"{what}, {IN_FLIGHT} in flight, {transport}: requests a second"
            yield _at_least(shown, usual.replace(READ, "itself"), least, found)


def _against_none(measures: Measures, what: str, other: str, size: int) -> float | None:
    one, two = measures.find(what, OURS, STDIO, size), measures.find(other, BARE, STDIO, size)
    return None if one is None or two is None else paired(one.samples, two.samples)


def _scan_against_floor(measures: Measures, size: int) -> float | None:
    one, two = measures.find(SCAN, OURS, "", size), measures.find(FLOOR, OURS, "", size)
    return None if one is None or two is None else paired(one.samples, two.samples)


def _at_least(what: str, against: str, least: float, found: float | None) -> Bar:
    return Bar(
        what, against, f"at least {least:g} times", found, reached=found is not None and found >= least
    )


def _at_most(what: str, against: str, most: float, found: float | None) -> Bar:
    return Bar(what, against, f"at most {most:g} times", found, reached=found is not None and found <= most)
