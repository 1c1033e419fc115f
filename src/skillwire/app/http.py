"""Serve over HTTP: bind the port, mount the well-known site and the routes of product areas, and run."""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillwire.config.settings import check_token, http_limits_from, token_from
from skillwire.errors import UsageError
from skillwire.server.http.address import Address, HostPolicy, check_host, check_origin, listen
from skillwire.server.http.app import MCP_PATH, http_app, serve_http
from skillwire.server.http.connections import HttpLimits
from skillwire.server.http.routes import HttpMount, join_mounts
from skillwire.server.http.well_known import well_known_mount
from skillwire.terminal.messages import print_notice

if TYPE_CHECKING:
    from skillwire.app.service import HttpOptions, Service


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A listening socket, the hosts, origins, token and limits that apply to it, and whether it has a log."""

    listening: socket.socket
    policy: HostPolicy
    token: str | None
    limits: HttpLimits
    access_log: bool = False


def bind_endpoint(http: str, reachable: "HttpOptions", lets_in: str) -> Endpoint:
    """Listen at `http` and return the endpoint. Raises `UsageError`.

    `lets_in` describes what clients without a token could do besides reading skills. Empty if they could do
    nothing else.
    """
    token, limits = token_from(reachable.token_env, os.environ), http_limits_from(os.environ)
    address = Address.parse(http)
    if not address.is_loopback and token is None:
        _refuse_without_token(address, lets_in, allow_public=reachable.allow_public)
    hosts, origins = reachable.allow_host or [], reachable.allow_origin or []
    return replace(_bind(address, token, limits, hosts, origins), access_log=reachable.access_log)


def bind_for_program(
    http: str, token: str | None, allow_hosts: Sequence[str], allow_origins: Sequence[str]
) -> Endpoint:
    """Listen at `http`, with settings from Python code, and return the endpoint. Raises `UsageError`."""
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


def _refuse_without_token(address: Address, lets_in: str, *, allow_public: bool) -> None:
    """Raise `UsageError` unless `allow_public` is set and clients can only read skills."""
    if lets_in:
        raise UsageError(
            f"{lets_in}, and `{address.host}` can be reached from other machines",
            hint="set a token with `--token-env VARIABLE`, or listen on `127.0.0.1`",
        )
    if not allow_public:
        raise UsageError(
            f"`{address.host}` can be reached from other machines, and there is no token",
            hint="set one with `--token-env VARIABLE`, or allow this with `--allow-public`",
        )


async def serve_over_http(service: "Service", endpoint: Endpoint) -> None:
    """Serve at the endpoint until a signal to stop arrives."""
    policy, token = endpoint.policy, endpoint.token
    mounts: list[HttpMount] = []
    if service.well_known:
        mounts.append(well_known_mount(service.library, private=service.freshness.private))
    if (gateway := service.gateway) is not None:
        added = (part.mount(gateway.context, policy, token) for part in gateway.parts)
        mounts.extend(each for each in added if each is not None)
    mount = join_mounts(mounts)
    server = service.server()
    cache = service.usable_cache() or False
    limits, log = endpoint.limits, endpoint.access_log
    app = http_app(server, policy, token, mount, cache=cache, limits=limits, access_log=log)

    def announce() -> None:
        for line in mount.announced:
            print_notice(line)
        print_notice(f"serving on http://{policy.bound.authority}{MCP_PATH}")

    await serve_http(app, endpoint.listening, announce, mount)
