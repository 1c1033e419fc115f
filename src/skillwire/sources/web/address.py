"""Web addresses in canonical form, so that two spellings of the same address compare equal.

An address uses `https`, or `http` with a loopback address. It never contains a user name or password.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

import httpx2

from skillwire.errors import SourceError, UsageError
from skillwire.safe_text import quoted

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(?=.{{1,254}}\Z){_LABEL}(?:\.{_LABEL})*\.?", re.ASCII)
_DEFAULT_PORTS = {"https": 443, "http": 80}
_HIGHEST_PORT = 65535
_USER = re.compile(r"//[^/?#]*@")


@dataclass(frozen=True, slots=True)
class WebAddress:
    """An absolute URL that was checked and is in canonical form."""

    url: str
    origin: str
    """Scheme, host, and the port if it is not the default: `https://host.example`."""
    loopback: bool
    """Whether the host is a loopback address."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse an address. Raises `SourceError`, whose message begins with the address."""
        return cls._checked(_parsed(text), text)

    def join(self, reference: str) -> Self:
        """Resolve a reference relative to this address (RFC 3986, section 5). Raises `SourceError`."""
        _refuse_odd_characters(reference)
        try:
            joined = httpx2.URL(self.url).join(reference)
        except httpx2.InvalidURL as error:
            raise _not_a_url(reference) from error
        return self._checked(joined, reference)

    @property
    def shown(self) -> str:
        """The address for error messages, without secrets."""
        return _shown(self.url)

    @property
    def path(self) -> str:
        """The path of the URL, percent-encoded."""
        return urlsplit(self.url).path

    @property
    def has_query(self) -> bool:
        return "?" in self.url

    @classmethod
    def _checked(cls, url: httpx2.URL, text: str) -> Self:
        shown = _shown(text)
        if url.scheme not in _DEFAULT_PORTS:
            raise SourceError(f"{shown} is not an `https` address")
        if url.userinfo:
            raise SourceError(f"{shown} holds a user name or a password; leave it out")
        host = url.raw_host.decode("ascii")
        numeric = _ip(host)
        if numeric is None and not _HOST.fullmatch(host):
            raise SourceError(f"{shown} has no valid host")
        if url.port is not None and not 0 < url.port <= _HIGHEST_PORT:
            raise SourceError(f"{shown} has no valid port")
        loopback = host == "localhost" if numeric is None else numeric.is_loopback
        if url.scheme == "http" and not loopback:
            raise SourceError(f"{shown} is `http`, which anyone on the network can modify; use `https`")
        port = None if url.port == _DEFAULT_PORTS[url.scheme] else url.port
        canonical = url.copy_with(host=str(numeric or host), port=port, fragment=None)
        netloc = canonical.netloc.decode("ascii")
        return cls(str(canonical), f"{url.scheme}://{netloc}", loopback)


def _shown(text: str) -> str:
    """Return an address in quotes for an error message, without parts that may be a password or key."""
    return quoted(_USER.sub("//…@", text.partition("?")[0]))


def _parsed(text: str) -> httpx2.URL:
    _refuse_odd_characters(text)
    try:
        return httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise _not_a_url(text) from error


def _refuse_odd_characters(text: str) -> None:
    # Parsers disagree on backslashes and spaces, and a disagreement could bypass a check.
    if "\\" in text or not text.isprintable() or " " in text:
        raise _not_a_url(text)


def _not_a_url(text: str) -> SourceError:
    return SourceError(f"{_shown(text)} is not a URL")


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def allowed_origin(text: str) -> str:
    """Return an origin from which downloads are also allowed, in canonical form. Raises `UsageError`."""
    try:
        address = WebAddress.parse(text)
    except SourceError as error:
        raise UsageError(
            f"an allowed origin is wrong: {error}", hint="write `https://host.example`"
        ) from error
    if address.path not in {"", "/"} or address.has_query:
        raise UsageError(f"{address.shown} is more than an origin", hint=f"write `{address.origin}`")
    return address.origin
