"""Addresses on the web in one spelling each, so that two that are the same place compare equal.

An address is `https`, or `http` on this machine. It never carries a user's name or a password.
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
    """An absolute URL that may be asked, checked and in its one spelling."""

    url: str
    origin: str
    """Scheme, host, and the port if it is not the usual one: `https://host.example`."""
    loopback: bool
    """Whether it is on this machine."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address that `text` spells. Raises `SourceError`, with a reason that starts with it."""
        return cls._checked(_parsed(text), text)

    def join(self, reference: str) -> Self:
        """Return the address that `reference` means on a page at this one (RFC 3986, 5).

        Raises `SourceError`.
        """
        _refuse_odd_characters(reference)
        try:
            joined = httpx2.URL(self.url).join(reference)
        except httpx2.InvalidURL as error:
            raise _not_a_url(reference) from error
        return self._checked(joined, reference)

    @property
    def shown(self) -> str:
        """The address for an error message."""
        return _shown(self.url)

    @property
    def path(self) -> str:
        """What stands after the host, as it is spelled: with its percent signs."""
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
            raise SourceError(f"{shown} has no host that could be asked")
        if url.port is not None and not 0 < url.port <= _HIGHEST_PORT:
            raise SourceError(f"{shown} has no port that could be asked")
        loopback = host == "localhost" if numeric is None else numeric.is_loopback
        if url.scheme == "http" and not loopback:
            raise SourceError(f"{shown} is `http`, which anybody on the way can change; use `https`")
        port = None if url.port == _DEFAULT_PORTS[url.scheme] else url.port
        canonical = url.copy_with(host=str(numeric or host), port=port, fragment=None)
        netloc = canonical.netloc.decode("ascii")
        return cls(str(canonical), f"{url.scheme}://{netloc}", loopback)


def _shown(text: str) -> str:
    """Return an address for an error message: without what may be a password, or a key."""
    return quoted(_USER.sub("//…@", text.partition("?")[0]))


def _parsed(text: str) -> httpx2.URL:
    _refuse_odd_characters(text)
    try:
        return httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise _not_a_url(text) from error


def _refuse_odd_characters(text: str) -> None:
    # Readers disagree on what a backslash or a space means, and a disagreement is a way around a rule.
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
    """Return an origin that publishers may send us to. Raises `UsageError`."""
    try:
        address = WebAddress.parse(text)
    except SourceError as error:
        raise UsageError(
            f"an allowed origin is wrong: {error}", hint="write `https://host.example`"
        ) from error
    if address.path not in {"", "/"} or address.has_query:
        raise UsageError(f"{address.shown} is more than an origin", hint=f"write `{address.origin}`")
    return address.origin
