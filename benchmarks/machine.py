"""The machine of a measurement, without anything that identifies it."""

import os
import platform
from dataclasses import dataclass
from importlib.metadata import version

_PACKAGES = ("anyio", "mcp", "orjson", "pydantic", "PyYAML", "uvloop")


@dataclass(frozen=True, slots=True)
class Machine:
    """What a reader must know to interpret the figures."""

    system: str
    cpus: int
    load: float
    """The load average of the last minute. If it is well above zero, expect noise."""
    python: str
    packages: dict[str, str]

    @classmethod
    def here(cls) -> "Machine":
        return cls(
            system=f"{platform.system()} {platform.machine()}",
            cpus=os.cpu_count() or 1,
            load=round(os.getloadavg()[0], 2),
            python=f"{platform.python_implementation()} {platform.python_version()}",
            packages={name: version(name) for name in _PACKAGES},
        )

    def __str__(self) -> str:
        packages = ", ".join(f"{name} {number}" for name, number in self.packages.items())
        return (
            f"{self.system}, {self.cpus} CPUs (load {self.load} before the start), {self.python}; {packages}."
        )
