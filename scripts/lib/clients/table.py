"""The real clients that are tried: versions, what to install, known faults. All pins are here.

To add one: an entry here, a driver in `drivers/`, then `scripts/conformance --clients --only NAME --write`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DRIVERS = Path(__file__).parent / "drivers"
ANY_PYTHON = ("3.13", "3.12", "3.11")


@dataclass(frozen=True)
class Client:
    """A client, how to install it, and what is known to fail in it."""

    name: str
    shown: str  # in the README
    version: str  # what the driver must report
    driver: str
    """A file of drivers/. `.mjs` runs in Node; `.py` in the client's Python, or else that of .venv."""
    npm: Mapping[str, str] = field(default_factory=dict[str, str])
    """npm packages and their versions."""
    overrides: Mapping[str, str] = field(default_factory=dict[str, str])
    """npm's overrides: versions of packages that the client depends on."""
    pip: Sequence[str] = ()
    """Requirements, as pip takes them."""
    pythons: Sequence[str] = ANY_PYTHON
    """With `pip`: the acceptable versions of Python, best first."""
    provided: str = ""
    """The option of run.py with the client's folder, if scripts/lib/judges.sh installs it."""
    transports: Sequence[str] = ("stdio", "http")
    """One run of the driver for each: stdio, http, site."""
    patience: float = 120  # seconds for one run of the driver
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    """The client's own faults: name of a check -> a sentence for the README. Such a check has to fail."""


JAVASCRIPT: Sequence[Client] = (
    Client(
        name="typescript-sdk",
        shown="TypeScript SDK",
        version="2.4.0",
        driver="typescript_sdk.mjs",
        npm={"@modelcontextprotocol/client": "2.4.0"},
    ),
)

PYTHON: Sequence[Client] = ()

CLIENTS: Sequence[Client] = (*JAVASCRIPT, *PYTHON)
