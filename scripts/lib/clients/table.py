"""The real clients that are tried: versions, what to install, known faults. All pins are here,
except those of scripts/lib/judges.sh.

To add one: an entry here, a driver in `drivers/`, then `scripts/conformance --clients --only NAME --write`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DRIVERS = Path(__file__).parent / "drivers"
ANY_PYTHON = ("3.13", "3.12", "3.11")


def pinned(variable: str) -> str:
    """Return a version that scripts/lib/judges.sh pins, because it installs that program."""
    judges = (Path(__file__).parents[1] / "judges.sh").read_text("utf-8")
    found = re.search(rf"^{variable}=(\S+)$", judges, re.MULTILINE)
    assert found, f"{variable} is not in judges.sh"
    return found[1]


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
    Client(
        name="inspector",
        shown="MCP Inspector",
        version=pinned("INSPECTOR_VERSION"),
        driver="inspector.py",
        provided="inspector",
    ),
    Client(
        name="vercel-skills",
        shown="vercel `skills`",
        version="1.7.4",
        driver="vercel_skills.py",
        npm={"skills": "1.7.4"},
        transports=("http", "site"),
        known={"executable bit": "Does not set the executable bits that archives have."},
    ),
    Client(
        name="mcpc",
        shown="`mcpc`",
        version="0.2.6",
        driver="mcpc.py",
        npm={"@apify/mcpc": "0.2.6"},
        overrides={"viem": "2.46.3"},  # the newest asks for a version of `ox` that the registry does not have
    ),
)

PYTHON: Sequence[Client] = ()

CLIENTS: Sequence[Client] = (*JAVASCRIPT, *PYTHON)
