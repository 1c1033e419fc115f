"""The real clients to test: versions, what to install, known faults.

All versions are pinned here, except those in scripts/lib/judges.sh. To add a client, write an entry here and
a driver in `drivers/`, then run `scripts/conformance --clients --only NAME --write`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DRIVERS = Path(__file__).parent / "drivers"
ANY_PYTHON = ("3.13", "3.12", "3.11")


def pinned(variable: str) -> str:
    """Return a version pinned in scripts/lib/judges.sh, for a program that it installs."""
    judges = (Path(__file__).parents[1] / "judges.sh").read_text("utf-8")
    found = re.search(rf"^{variable}=(\S+)$", judges, re.MULTILINE)
    assert found, f"{variable} is not in judges.sh"
    return found[1]


@dataclass(frozen=True)
class Client:
    """A client, how to install it, and its known faults."""

    name: str
    shown: str  # in the README
    version: str  # what the driver must report
    driver: str
    """A file in drivers/. `.mjs` runs in Node; `.py` in the client's Python, or else that of .venv."""
    npm: Mapping[str, str] = field(default_factory=dict[str, str])
    """npm packages and their versions."""
    overrides: Mapping[str, str] = field(default_factory=dict[str, str])
    """npm's overrides: versions of packages that the client depends on."""
    pip: Sequence[str] = ()
    """Requirements for pip."""
    pythons: Sequence[str] = ANY_PYTHON
    """Versions of Python for `pip`, best first."""
    provided: str = ""
    """The option of run.py that has the client's folder, if scripts/lib/judges.sh installs it."""
    serve: Sequence[str] = ()
    """Options of `skillwire serve` that the client needs."""
    transports: Sequence[str] = ("stdio", "http")
    """One run of the driver for each: stdio, http, site."""
    patience: float = 120  # seconds for one run of the driver
    known: Mapping[str, str] = field(default_factory=dict[str, str])
    """The client's own faults: name of a check -> a sentence for the README. The check must fail."""


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
        overrides={"viem": "2.46.3"},  # the newest requires a version of `ox` that is not in the registry
    ),
)

MCP = "mcp==2.3.0"
YAML_1_1 = "Cannot download a skill whose frontmatter has values that YAML 1.1 and 1.2 read differently."

PYTHON: Sequence[Client] = (
    Client(
        name="fastmcp-4.1",
        shown="FastMCP",
        version="4.1.2",
        driver="fastmcp_client.py",
        pip=("fastmcp==4.1.2", "fastmcp-slim==4.1.2", MCP),
    ),
    Client(
        name="fastmcp-4.2",
        shown="FastMCP (`fastmcp-slim`)",
        version="4.2.0",
        driver="fastmcp_client.py",
        # Its client needs PyYAML to read whole skills, but does not require it.
        pip=("fastmcp-slim[client]==4.2.0", "PyYAML>=6", MCP),
        known={
            f"{protocol} read whole skills with ambiguous YAML": YAML_1_1
            for protocol in ("2026-07-28", "2025-11-25")
        },
    ),
    Client(
        name="fast-agent",
        shown="fast-agent",
        version="0.10.46",
        driver="fast_agent_client.py",
        pip=("fast-agent-mcp==0.10.46",),
        pythons=("3.13", "3.12"),
        patience=180,
        known={"install skills with ambiguous YAML": YAML_1_1},
    ),
    Client(
        name="langchain-mcp-adapters",
        shown="LangChain MCP adapters",
        version="0.3.2",
        driver="langchain_adapters.py",
        pip=("langchain-mcp-adapters==0.3.2", "mcp==1.30.0"),
        serve=("--prompt-content", "text"),
    ),
    Client(
        name="pydantic-ai",
        shown="Pydantic AI",
        version="2.66.0",
        driver="pydantic_ai_toolset.py",
        pip=("pydantic-ai-slim[mcp]==2.66.0", "fastmcp-slim==4.2.0", MCP),
        known={
            "read JSON files with a tool": "A tool's text that is JSON reaches the model as parsed values."
        },
    ),
    Client(
        name="openai-agents",
        shown="OpenAI Agents SDK",
        version="0.24.0",
        driver="openai_agents.py",
        pip=("openai-agents==0.24.0", "websockets<17", MCP),
    ),
)

CLIENTS: Sequence[Client] = (*JAVASCRIPT, *PYTHON)
