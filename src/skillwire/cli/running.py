"""Running a server that a verb starts, until its client leaves or a signal comes."""

import logging
import sys
from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import anyio

from skillwire.cli.log_limit import LimitedHandler
from skillwire.cli.saying import say
from skillwire.cli.service import Service
from skillwire.model.errors import UnreadError, UsageError
from skillwire.server.signals import on_stop_signal
from skillwire.server.stdio import serve_lazily

if TYPE_CHECKING:
    from skillwire.cli.listening import Endpoint


def log_to_stderr() -> None:
    """Let people see what goes wrong inside. Stdout belongs to the client."""
    logging.basicConfig(
        level=logging.WARNING,
        handlers=[LimitedHandler(sys.stderr)],
        format="%(levelname)s: %(name)s: %(message)s",
    )


def run(serving: Callable[[], Awaitable[None]]) -> None:
    """Run the event loop; uvloop where it is to be had."""
    anyio.run(serving, backend_options={"use_uvloop": find_spec("uvloop") is not None})


async def serve_at(endpoint: "Endpoint | None", service: Service) -> None:
    """Serve over HTTP at the endpoint, else on stdio."""
    if endpoint is None:
        await _over_stdio(service)
    else:
        await import_module("skillwire.cli.over_http").serve_over_http(service, endpoint)


def checked_budget(tokens: int) -> int:
    """Return how long the list of skills may be. Raises `UsageError`."""
    if tokens < 0:
        raise UsageError(f"`--catalog-tokens` is {tokens}", hint="say how many tokens, 0 for an empty list")
    return tokens


async def _over_stdio(service: Service) -> None:
    if sys.stdin.isatty():
        say("waiting for an MCP client on stdin; end with Ctrl-D. To look around, add `--http 8765`")
    unread: UnreadError | None = None
    with anyio.CancelScope() as scope:
        async with on_stop_signal(scope.cancel), anyio.create_task_group() as tasks:
            tasks.start_soon(service.library.follow)  # also while nobody has asked for what needs the SDK
            try:
                await serve_lazily(service.server, service.lane)
            except UnreadError as error:  # in a group of errors it would be a traceback
                unread = error
            tasks.cancel_scope.cancel()
    if unread is not None:
        raise unread
