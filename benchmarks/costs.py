"""What something cost: wall time, and the CPU time that a noisy machine cannot stretch as much."""

import statistics
import sys
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds."""

    wall: float
    cpu: float

    def __sub__(self, before: "Cost") -> "Cost":
        return Cost(self.wall - before.wall, self.cpu - before.cpu)

    def __truediv__(self, parts: int) -> "Cost":
        return Cost(self.wall / parts, self.cpu / parts)

    @classmethod
    def median(cls, costs: Iterable["Cost"]) -> "Cost":
        """Return the median of each clock."""
        walls, cpus = zip(*((cost.wall, cost.cpu) for cost in costs), strict=True)
        return cls(statistics.median(walls), statistics.median(cpus))


@contextmanager
def timed(costs: list[Cost]) -> Generator[None]:
    """Add what the block costs in this process, all threads together."""
    before = Cost(time.perf_counter(), time.process_time())
    yield
    costs.append(Cost(time.perf_counter(), time.process_time()) - before)


def cpu_of(pid: int) -> float:
    """Return the CPU seconds that a running process has used so far."""
    if sys.platform == "linux":
        # The clock that clock_getcpuclockid(3) names: it counts nanoseconds, /proc hundredths of a second.
        return time.clock_gettime(~pid << 3 | 2)
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
