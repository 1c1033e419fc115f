"""Where an HTTP server listens, which `Host` and `Origin` it accepts, and binding its port."""

import errno
import ipaddress
import re
import socket
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from skillwire.errors import InvalidValueError, UsageError

_MAX_PORT = 65535
# A host as a header may spell it. Stricter than URL parsers, which forgive what an attacker needs forgiven.
_HOST = r"(?P<host>\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?\]|[A-Za-z0-9._-]+)"
_AUTHORITY = re.compile(rf"{_HOST}(?::(?P<port>[0-9]{{1,5}}))?", re.ASCII)
_ORIGIN = re.compile(r"https?://(?P<authority>[^/]+)", re.ASCII)
_UUID = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_EXTENSION = re.compile(rf"chrome-extension://[a-p]{{32}}|(?:moz|safari-web)-extension://{_UUID}", re.ASCII)
"""The origin of a browser extension. Its id is no host: it has no port, and its case matters."""
_OPTION: int = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
"""On Windows, `SO_REUSEADDR` would let any other program take the same port."""


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port to bind. Port 0 lets the system choose."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `[HOST:]PORT`; an IPv6 host stands in brackets. Raises `InvalidValueError`."""
        spelled = text if ":" in text else f":{text}"
        match _authority(f"127.0.0.1{spelled}" if spelled.startswith(":") else spelled):
            case (host, int(port)):
                return cls(host, port)
            case _:
                raise InvalidValueError("address", text, "`PORT`, `HOST:PORT` or `[IPV6]:PORT`")

    @property
    def is_loopback(self) -> bool:
        return _is_loopback(self.host)

    @property
    def authority(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """Which `Host` and `Origin` headers are accepted.

    A web page anywhere can make a browser send requests here. It cannot choose these two headers: a
    name that was rebound to this machine shows in `Host`, and the page itself in `Origin`.
    """

    bound: Address
    hosts: frozenset[str] = frozenset()
    """Further names that this server is reached by; one with a port only on that port."""
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
        # On a public bind a name must be known; an IP address cannot have been rebound.
        return host == self.bound.host.lower() or _is_ip(host)

    def accepts_origin(self, header: str | None, host_header: str | None) -> bool:
        if header is None or header in self.origins:
            return True
        spelled = _ORIGIN.fullmatch(header)
        if spelled is None or (found := _authority(spelled["authority"])) is None:
            return False
        if self.bound.is_loopback:
            return _is_loopback(found[0])
        return spelled["authority"].lower() == (host_header or "").lower()


def check_host(text: str) -> str:
    """Return a name for `HostPolicy.hosts`. Raises `InvalidValueError`."""
    if _authority(text) is None:
        raise InvalidValueError("host", text, "a name or an address, such as `skills.example`")
    return text


def check_origin(text: str) -> str:
    """Return an origin for `HostPolicy.origins`: of a web site or a browser extension.

    Raises `InvalidValueError`.
    """
    if _EXTENSION.fullmatch(extension := text.removesuffix("/")):
        return extension
    origin = text.lower().removesuffix("/")
    spelled = _ORIGIN.fullmatch(origin)
    if spelled is None or _authority(spelled["authority"]) is None:
        forms = "of the form `https://app.example` or `chrome-extension://ID`, without a path"
        raise InvalidValueError("origin", text, forms)
    return origin


@lru_cache(maxsize=256)
def _authority(text: str) -> tuple[str, int | None] | None:
    """Return the host without brackets, and the port if there is one; None if `text` is no authority."""
    if (spelled := _AUTHORITY.fullmatch(text)) is None:
        return None
    host = spelled["host"].removeprefix("[").removesuffix("]")
    port = None if spelled["port"] is None else int(spelled["port"])
    if (host != spelled["host"] and not _is_ip(host)) or (port is not None and port > _MAX_PORT):
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
    """Bind `address`. Return the socket, and the address with its real port. Raises `UsageError`."""
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
        return "another program listens there; choose another port, or 0 to let the system choose"
    return "choose another `[HOST:]PORT`"
