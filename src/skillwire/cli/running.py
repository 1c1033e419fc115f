"""Running a server that a verb starts, until its client leaves or a signal comes."""

import logging
import sys
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any

import anyio
from mcp.server.lowlevel.server import Server

from skillwire.cli.endpoint import Endpoint
from skillwire.cli.output import talk
from skillwire.drive.live import LiveSkills
from skillwire.model.errors import UsageError
from skillwire.server.descriptors import allow_connections
from skillwire.server.drive import drive_annex
from skillwire.server.http import MCP_PATH, http_app, serve_http
from skillwire.server.signals import on_stop_signal
from skillwire.server.stdio import serve_stdio


def log_to_stderr() -> None:
    """Let people see what goes wrong inside. Stdout belongs to the client."""
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(levelname)s: %(name)s: %(message)s"
    )


def run(serving: Callable[[], Awaitable[None]]) -> None:
    """Run the event loop; uvloop where it is to be had."""
    anyio.run(serving, backend_options={"use_uvloop": find_spec("uvloop") is not None})


async def serve_at(endpoint: Endpoint | None, server: Server[Any], live: LiveSkills | None = None) -> None:
    """Serve over HTTP at the endpoint, else on stdio."""
    await (_over_stdio(server) if endpoint is None else _over_http(server, endpoint, live))


def checked_budget(tokens: int) -> int:
    """Return how long the list of skills may be. Raises `UsageError`."""
    if tokens < 0:
        raise UsageError(f"`--catalog-tokens` is {tokens}", hint="say how many tokens, 0 for an empty list")
    return tokens


async def _over_stdio(server: Server[Any]) -> None:
    if sys.stdin.isatty():
        talk().print("waiting for an MCP client on stdin; end with Ctrl-D. To look around, add `--http 8765`")
    with anyio.CancelScope() as scope:
        async with on_stop_signal(scope.cancel):
            await serve_stdio(server)


async def _over_http(server: Server[Any], endpoint: Endpoint, live: LiveSkills | None) -> None:
    annex = None if live is None else drive_annex(live, endpoint.token)
    app = http_app(server, endpoint.policy, endpoint.token, annex)
    authority = endpoint.policy.bound.authority

    def announce() -> None:
        if live is not None:
            talk().print(f"programs connect to ws://{authority}")
        talk().print(f"serving on http://{authority}{MCP_PATH}")

    if annex is not None:
        allow_connections(annex.connections)
    await serve_http(app, endpoint.listening, announce, annex)
