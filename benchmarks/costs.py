"""The cost of an operation: wall time, and CPU time, which varies less on a busy machine."""

import statistics
import sys
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall time and CPU time, in seconds."""

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
    """Append the cost of the block in this process, all threads together, to `costs`."""
    before = Cost(time.perf_counter(), time.process_time())
    yield
    costs.append(Cost(time.perf_counter(), time.process_time()) - before)


def cpu_of(pid: int) -> float:
    """Return the CPU seconds that a running process has used so far."""
    if sys.platform == "linux":
        # The clock of clock_getcpuclockid(3). It counts nanoseconds; /proc has only hundredths of a second.
        return time.clock_gettime(~pid << 3 | 2)
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
