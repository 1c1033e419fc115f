"""`skillwire serve --http`: the part of `serve` that only a server on the network needs."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from mcp.server.lowlevel.server import Server

from skillwire.cli.output import talk
from skillwire.drive.live import LiveSkills
from skillwire.model.errors import UsageError
from skillwire.server.address import Address, HostPolicy, check_host, check_origin
from skillwire.server.descriptors import allow_connections
from skillwire.server.drive import drive_annex
from skillwire.server.http import MCP_PATH, http_app, listen, serve_http
from skillwire.server.lane import Lane

Serving: TypeAlias = Callable[
    [Callable[[], Awaitable[None]], Callable[[], Server[Any]], Lane | None], Awaitable[None]
]
"""Takes what loads the library, what makes the server, and the lane."""


def prepared(
    http: str,
    token: str | None,
    *,
    allow_public: bool,
    allow_hosts: Sequence[str],
    allow_origins: Sequence[str],
    live: LiveSkills | None,
) -> Serving:
    """Listen at the address in `http`, and return what serves there. Raises `UsageError`."""
    address = Address.parse(http)
    if live is not None and not address.is_loopback and token is None:
        raise UsageError(
            f"`--drive` lets programs in, and `{address.host}` can be reached from other machines",
            hint="set a token with `--token-env VAR`, or bind a loopback address",
        )
    if not address.is_loopback and token is None and not allow_public:
        raise UsageError(
            f"`{address.host}` can be reached from other machines, and there is no token",
            hint="set one with `--token-env VAR`, or insist with `--allow-public`",
        )
    hosts = frozenset(map(check_host, allow_hosts))
    origins = frozenset(map(check_origin, allow_origins))
    listening, bound = listen(address)
    policy = HostPolicy(bound, hosts, origins)

    async def serve(
        start: Callable[[], Awaitable[None]], make_server: Callable[[], Server[Any]], lane: Lane | None
    ) -> None:
        await start()
        annex = None if live is None else drive_annex(live, token)
        app = http_app(make_server(), policy, token, annex, lane)
        authority = policy.bound.authority

        def announce() -> None:
            if live is not None:
                talk().print(f"programs connect to ws://{authority}")
            talk().print(f"serving on http://{authority}{MCP_PATH}")

        if annex is not None:
            allow_connections(annex.connections)
        await serve_http(app, listening, announce, annex)

    return serve
