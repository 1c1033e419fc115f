"""Beginning to listen over HTTP: at which address, to whom, and what they must send."""

import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillwire.config.settings import http_limits_from, token_from
from skillwire.model.errors import UsageError
from skillwire.server.address import Address, HostPolicy, check_host, check_origin
from skillwire.server.connections import HttpLimits
from skillwire.server.port import listen

if TYPE_CHECKING:
    from skillwire.cli.endpoint import Reachable


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A port that is listened to, who may come there, what they must send, and how much they may use."""

    listening: socket.socket
    policy: HostPolicy
    token: str | None
    limits: HttpLimits


def listen_at(http: str, reachable: "Reachable", lets_in: str) -> Endpoint:
    """Return the endpoint at `http`, with the walls that the options want. Raises `UsageError`.

    `lets_in` says what strangers could do there who need no token, if that is more than reading skills.
    """
    token, limits = token_from(reachable.token_env, os.environ), http_limits_from(os.environ)
    address = Address.parse(http)
    if not address.is_loopback and token is None:
        _refuse_without_token(address, lets_in, insists=reachable.allow_public)
    hosts = frozenset(map(check_host, reachable.allow_host or []))
    origins = frozenset(map(check_origin, reachable.allow_origin or []))
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
