"""Serve over HTTP: bind the port, mount pages, Drive and the well-known site, run."""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from skillwire.app.gateway import ServedLibrary
from skillwire.app.service import Service
from skillwire.config.settings import check_token, http_limits_from, token_from
from skillwire.drive.http import drive_mount
from skillwire.errors import UsageError
from skillwire.pages.overview import Overview, ShowPlaces
from skillwire.pages.web import UNLOCK_PAGE, page_mount, page_sessions
from skillwire.server.http.address import Address, HostPolicy, check_host, check_origin, listen
from skillwire.server.http.app import MCP_PATH, http_app, serve_http
from skillwire.server.http.connections import HttpLimits
from skillwire.server.http.routes import HttpMount, join_mounts
from skillwire.server.http.well_known import well_known_mount
from skillwire.terminal.messages import say

if TYPE_CHECKING:
    from skillwire.app.service import HttpOptions


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A port that is listened to, who may come there, what they must send, and how much they may use."""

    listening: socket.socket
    policy: HostPolicy
    token: str | None
    limits: HttpLimits


def bind_endpoint(http: str, reachable: "HttpOptions", lets_in: str) -> Endpoint:
    """Return the endpoint at `http`, with the walls that the options want. Raises `UsageError`.

    `lets_in` says what strangers could do there who need no token, if that is more than reading skills.
    """
    token, limits = token_from(reachable.token_env, os.environ), http_limits_from(os.environ)
    address = Address.parse(http)
    if not address.is_loopback and token is None:
        _refuse_without_token(address, lets_in, insists=reachable.allow_public)
    return _bind(address, token, limits, reachable.allow_host or [], reachable.allow_origin or [])


def bind_for_program(
    http: str, token: str | None, allow_hosts: Sequence[str], allow_origins: Sequence[str]
) -> Endpoint:
    """Return the endpoint at `http` of a server in a program. Raises `UsageError`."""
    address = Address.parse(http)
    if token is not None:
        check_token(token, "the token")
    elif not address.is_loopback:
        raise UsageError(
            f"`{address.host}` can be reached from other machines, and there is no token",
            hint="pass one as `token=…`, or listen on `127.0.0.1`",
        )
    return _bind(address, token, http_limits_from(os.environ), allow_hosts, allow_origins)


def _bind(
    address: Address,
    token: str | None,
    limits: HttpLimits,
    allow_hosts: Sequence[str],
    allow_origins: Sequence[str],
) -> Endpoint:
    hosts, origins = frozenset(map(check_host, allow_hosts)), frozenset(map(check_origin, allow_origins))
    listening, bound = listen(address)
    return Endpoint(listening, HostPolicy(bound, hosts, origins), token, limits)


def _refuse_without_token(address: Address, lets_in: str, *, insists: bool) -> None:
    if lets_in:
        raise UsageError(
            f"{lets_in}, and `{address.host}` can be reached from other machines",
            hint="set a token with `--token-env VAR`, or bind a loopback address",
        )
    if not insists:
        raise UsageError(
            f"`{address.host}` can be reached from other machines, and there is no token",
            hint="set one with `--token-env VAR`, or insist with `--allow-public`",
        )


async def serve_over_http(service: Service, endpoint: Endpoint) -> None:
    """Serve at the endpoint until a signal to stop arrives."""
    gateway, authority = service.gateway, endpoint.policy.bound.authority
    annexes: list[HttpMount] = []
    if service.well_known:
        annexes.append(well_known_mount(service.library, private=service.freshness.private))
    key: str | None = None
    if gateway is not None:
        overview = _overview_for_pages(gateway, endpoint)
        sessions = page_sessions(overview, endpoint.token, partial(_say_key, authority))
        key = sessions.key
        annexes.append(page_mount(overview, sessions))
    if gateway is not None and gateway.live is not None:
        annexes.append(drive_mount(gateway.live, endpoint.token))
    mount = join_mounts(annexes)
    server = service.server()
    cache = service.usable_cache() or False
    app = http_app(server, endpoint.policy, endpoint.token, mount, cache=cache, limits=endpoint.limits)

    def announce() -> None:
        if gateway is not None and gateway.live is not None:
            say(f"programs connect to ws://{authority}")
        if gateway is not None:
            say(f"open http://{authority}/ in a browser to see the skills")
        if key is not None:
            _say_key(authority, key)
        say(f"serving on http://{authority}{MCP_PATH}")

    await serve_http(app, endpoint.listening, announce, mount)


def _overview_for_pages(gateway: ServedLibrary, endpoint: Endpoint) -> Overview:
    private = endpoint.token is not None or endpoint.policy.bound.is_loopback
    return gateway.overview(
        show_places=ShowPlaces.TO_ALL if private else ShowPlaces.NEVER, unlock=UNLOCK_PAGE
    )


def _say_key(authority: str, key: str) -> None:
    """Print the address that lets one browser change things. No server and no log sees a fragment."""
    say(f"to change things, open http://{authority}/#key={key} (works once)")
