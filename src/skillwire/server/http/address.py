"""The address and port of an HTTP server, and the `Host` and `Origin` headers that it accepts."""

import errno
import ipaddress
import re
import socket
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from skillwire.errors import InvalidValueError, UsageError

_MAX_PORT = 65535
# Matches a host in a header. This is stricter than URL parsers, whose tolerance an attacker could exploit.
_HOST = r"(?P<host>\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?\]|[A-Za-z0-9._-]+)"
_AUTHORITY = re.compile(rf"{_HOST}(?::(?P<port>[0-9]{{1,5}}))?", re.ASCII)
_ORIGIN = re.compile(r"https?://(?P<authority>[^/]+)", re.ASCII)
_UUID = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_EXTENSION = re.compile(rf"chrome-extension://[a-p]{{32}}|(?:moz|safari-web)-extension://{_UUID}", re.ASCII)
"""Matches the origin of a browser extension.

Its id is not a host name: it has no port and is case-sensitive.
"""
_OPTION: int = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
"""Socket option of the listening port. On Windows, `SO_REUSEADDR` would let other programs take the port."""


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port to listen on. Port 0 lets the system choose a free port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `[HOST:]PORT`, with an IPv6 host in brackets. The default host is `127.0.0.1`.

        Raises `InvalidValueError`.
        """
        authority = text if ":" in text else f":{text}"
        match _authority(f"127.0.0.1{authority}" if authority.startswith(":") else authority):
            case (host, int(port)):
                return cls(host, port)
            case _:
                raise InvalidValueError(
                    "address",
                    text,
                    f"`PORT`, `HOST:PORT` or `[IPV6]:PORT`, with a port from 0 to {_MAX_PORT}",
                )

    @property
    def is_loopback(self) -> bool:
        return _is_loopback(self.host)

    @property
    def authority(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """Which `Host` and `Origin` headers are accepted.

    Any web page can make a browser send requests to this server, but it cannot choose these two headers.
    `Host` reveals a host name that was rebound to this server, and `Origin` reveals the page.
    """

    bound: Address
    hosts: frozenset[str] = frozenset()
    """Further host names of this server. A name with a port is accepted only on that port."""
    origins: frozenset[str] = frozenset()
    """Further origins whose pages may call this server."""

    def accepts_host(self, header: str | None) -> bool:
        if header is None or (found := _authority(header)) is None:
            return False
        host, port = found[0].lower(), found[1]
        if any(_covers(allowed, host, port) for allowed in self.hosts):
            return True
        if self.bound.is_loopback:
            return _is_loopback(host)
        # At a public address, a host name must be known. An IP address cannot have been rebound.
        return host == self.bound.host.lower() or _is_ip(host)

    def accepts_origin(self, header: str | None, host_header: str | None) -> bool:
        if header is None or header in self.origins:
            return True
        parsed = _ORIGIN.fullmatch(header)
        if parsed is None or (found := _authority(parsed["authority"])) is None:
            return False
        if self.bound.is_loopback:
            return _is_loopback(found[0])
        return parsed["authority"].lower() == (host_header or "").lower()


def check_host(text: str) -> str:
    """Return `text` if it is a valid name for `HostPolicy.hosts`. Raises `InvalidValueError`."""
    if _authority(text) is None:
        raise InvalidValueError("host", text, "a name or an address, such as `skills.example`")
    return text


def check_origin(text: str) -> str:
    """Validate the origin of a website or browser extension.

    Return it in the form for `HostPolicy.origins`. Raises `InvalidValueError`.
    """
    if _EXTENSION.fullmatch(extension := text.removesuffix("/")):
        return extension
    origin = text.lower().removesuffix("/")
    parsed = _ORIGIN.fullmatch(origin)
    if parsed is None or _authority(parsed["authority"]) is None:
        forms = "of the form `https://app.example` or `chrome-extension://ID`, without a path"
        raise InvalidValueError("origin", text, forms)
    return origin


@lru_cache(maxsize=256)
def _authority(text: str) -> tuple[str, int | None] | None:
    """Return the host without brackets and the port or None. Return None if `text` is not `HOST[:PORT]`."""
    if (parsed := _AUTHORITY.fullmatch(text)) is None:
        return None
    host = parsed["host"].removeprefix("[").removesuffix("]")
    port = None if parsed["port"] is None else int(parsed["port"])
    if (host != parsed["host"] and not _is_ip(host)) or (port is not None and port > _MAX_PORT):
        return None
    return host, port


def _covers(allowed: str, host: str, port: int | None) -> bool:
    found = _authority(allowed)
    return found is not None and found[0].lower() == host and found[1] in {None, port}


@lru_cache(maxsize=256)
def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=256)
def _is_loopback(host: str) -> bool:
    return host.lower() == "localhost" or (_is_ip(host) and ipaddress.ip_address(host).is_loopback)


def listen(address: Address) -> tuple[socket.socket, Address]:
    """Listen on `address`. Return the socket, and the address with the actual port. Raises `UsageError`."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening: socket.socket | None = None
    try:
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, _OPTION, 1)
        listening.bind((address.host, address.port))
        listening.listen(2048)
    except OSError as error:
        if listening is not None:
            listening.close()
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot listen on {address.authority}: {reason}", hint=_bind_hint(error)) from error
    return listening, Address(address.host, listening.getsockname()[1])


def _bind_hint(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program uses this port; choose another port, or 0 to let the system choose one"
    return "choose another `[HOST:]PORT`"
