"""A server that is built when it is needed, and served on stdio or over HTTP."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio

from skillwire import __version__
from skillwire.config.settings import DEFAULT_ADDRESS, DEFAULT_PORT
from skillwire.errors import UnreadError, UsageError
from skillwire.features.base import Feature
from skillwire.library.library import Library
from skillwire.protocol.messages import Freshness
from skillwire.server.response_cache import ResponseCache
from skillwire.server.serve_options import NAME, ServeOptions, all_features
from skillwire.server.signals import on_stop_signal
from skillwire.server.stdio.serve import serve_lazily
from skillwire.terminal.messages import say

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

    from skillwire.app.gateway import ServedLibrary
    from skillwire.app.http import Endpoint


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """What the options say of who can reach a server."""

    http: str | None = None
    """None for stdio, `DEFAULT_ADDRESS` for the default port."""
    token_env: str | None = None
    allow_public: bool = False
    allow_host: list[str] | None = None
    allow_origin: list[str] | None = None

    def endpoint(self, lets_in: str = "") -> "Endpoint | None":
        """Return where to serve over HTTP, listened to from now on; None for stdio. Raises `UsageError`.

        `lets_in` says what strangers could do there who need no token, if that is more than reading skills.
        """
        if self.http is None:
            self._refuse_without_http()
            return None
        from skillwire.app.http import bind_endpoint  # noqa: PLC0415 - stdio has no walls around it

        address = str(DEFAULT_PORT) if self.http == DEFAULT_ADDRESS else self.http
        return bind_endpoint(address, self, lets_in)

    def _refuse_without_http(self) -> None:
        given = {
            "--token-env": self.token_env,
            "--allow-public": self.allow_public,
            "--allow-host": self.allow_host,
            "--allow-origin": self.allow_origin,
        }
        if option := next((option for option, value in given.items() if value), None):
            hint = "stdio has one client, and that one started the server"
            raise UsageError(f"`{option}` needs `--http`", hint=hint)


@dataclass(frozen=True, slots=True)
class Service:
    """A server that is made when somebody needs it. Until then, nothing loads the MCP SDK."""

    library: Library
    surfaces: Sequence[Feature]
    freshness: Freshness
    name: str = NAME
    lane: ResponseCache | None = None
    gateway: "ServedLibrary | None" = None
    """What areas add their routes for, if they add any."""
    well_known: bool = True
    """Whether programs can install the skills over HTTP, from `/.well-known/agent-skills/`."""

    @classmethod
    def of(
        cls,
        library: Library,
        serve_options: ServeOptions,
        freshness: Freshness,
        *,
        name: str = NAME,
        with_lane: bool = True,
        gateway: "ServedLibrary | None" = None,
        well_known: bool = True,
    ) -> "Service":
        surfaces = all_features(library, serve_options)
        lane = ResponseCache(surfaces, freshness, name=name, version=__version__) if with_lane else None
        return cls(library, surfaces, freshness, name, lane, gateway, well_known)

    def server(self) -> "Server[Any]":
        """Return the server of the SDK, which is loaded only now."""
        return import_module("skillwire.server.build").skills_server(
            self.library, name=self.name, freshness=self.freshness, surfaces=self.surfaces
        )


async def serve_at(endpoint: "Endpoint | None", service: Service) -> None:
    """Serve over HTTP at the endpoint, else on stdio."""
    if endpoint is None:
        await _over_stdio(service)
    else:
        await import_module("skillwire.app.http").serve_over_http(service, endpoint)


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
