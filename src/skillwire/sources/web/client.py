"""Fetch over HTTP, only from allowed origins and within limits on size and time.

SourceError
└── HttpStatusError    the server answered with an unexpected status, such as 404
"""

from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Self

import anyio
import httpx2

from skillwire import __version__
from skillwire.core.http_body import BodyTooLargeError, read_response
from skillwire.errors import SourceError
from skillwire.safe_text import escape_invisible
from skillwire.sources.web.address import WebAddress

MAX_REDIRECTS = 5
TIMEOUT_SECONDS = 60.0
"""Timeout of one request in seconds, including redirects."""

_OK, _NOT_MODIFIED = 200, 304
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TOKEN_REQUIRED = frozenset({401, 403})
_SHOWN_REASON = 200
_MAX_VALIDATOR = 1024


class HttpStatusError(SourceError):
    """A response with a status other than 200, a redirect, or 304 to a conditional request."""

    def __init__(self, address: WebAddress, status: int) -> None:
        self.status = status
        reason = ": it requires a token, or a different one" if status in _TOKEN_REQUIRED else ""
        super().__init__(f"{address.shown} answers {status}{reason}")


@dataclass(frozen=True, slots=True)
class HttpValidators:
    """The `ETag` and `Last-Modified` headers of a response, for conditional requests."""

    etag: str = ""
    modified: str = ""

    @classmethod
    def of(cls, headers: httpx2.Headers) -> Self:
        """Return the validators in the headers of a response, if they can be sent back unchanged."""
        return cls(
            _sendable_header(headers.get("etag", "")), _sendable_header(headers.get("last-modified", ""))
        )

    def headers(self) -> dict[str, str]:
        """Return the headers of a conditional request. Empty if there are no validators."""
        named = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in named.items() if value}


@dataclass(frozen=True, slots=True)
class FetchResult:
    """A response with content, or one that confirms that the cached content is current."""

    address: WebAddress
    """The address of the response, after all redirects."""
    content: bytes | None
    """The content; None if the server answers 304, because the cached content is current."""
    media_type: str
    validators: HttpValidators


class WebClient:
    """An HTTP client that fetches only from allowed origins. Use it as an async context manager."""

    def __init__(
        self,
        home: WebAddress,
        *,
        allowed_origins: Collection[str] = (),
        token: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        """Allow the origin of `home` and `allowed_origins`.

        The token is sent only to the origin of `home`.
        """
        self._home = home
        self._allowed = frozenset({home.origin, *allowed_origins})
        self._token = token
        self._timeout = timeout
        self._clients: dict[bool, httpx2.AsyncClient] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clients.clear()
        await self._stack.__aexit__(kind, error, trace)

    async def get(
        self, address: WebAddress, *, limit: int, known: HttpValidators | None = None
    ) -> FetchResult:
        """Fetch an address. The result has no content if the server confirms the validators in `known`.

        Raises `SourceError`, also if the response has more than `limit` bytes.
        """
        try:
            with anyio.fail_after(self._timeout):
                return await self._follow(address, limit, known or HttpValidators())
        except TimeoutError:
            raise SourceError(f"{address.shown} takes longer than {self._timeout:g} seconds") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            reason = escape_invisible(str(error) or type(error).__name__, _SHOWN_REASON)
            raise SourceError(f"{address.shown} cannot be fetched: {reason}") from error

    async def _follow(self, address: WebAddress, limit: int, known: HttpValidators) -> FetchResult:
        """Send a request and follow redirects to allowed origins."""
        if not self._allows(address):
            raise SourceError(f"{address.shown} is not at an allowed origin; {_remedy(address)}")
        current = address
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._request(current, limit, known)
            if isinstance(answer, FetchResult):
                return answer
            if not self._allows(answer):
                target = f"`{answer.origin}`, which is not an allowed origin"
                raise SourceError(f"{current.shown} redirects to {target}; {_remedy(answer)}")
            current = answer
        raise SourceError(f"{address.shown} redirects more than {MAX_REDIRECTS} times")

    async def _request(
        self, address: WebAddress, limit: int, known: HttpValidators
    ) -> FetchResult | WebAddress:
        """Send one request. Return the result, or the address to which the server redirects."""
        client = self._client(address)
        async with client.stream("GET", address.url, headers=self._headers(address, known)) as response:
            status = response.status_code
            if status in _REDIRECTS and "location" in response.headers:
                return _redirect_target(address, response.headers["location"])
            if status == _NOT_MODIFIED and known != HttpValidators():
                return FetchResult(address, None, "", known)
            if status != _OK:
                raise HttpStatusError(address, status)
            content = await _body(response, address, limit)
            media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            return FetchResult(address, content, media_type, HttpValidators.of(response.headers))

    def _allows(self, address: WebAddress) -> bool:
        return address.origin in self._allowed

    def _headers(self, address: WebAddress, known: HttpValidators) -> dict[str, str]:
        if self._token is None or address.origin != self._home.origin:
            return known.headers()
        return {**known.headers(), "Authorization": f"Bearer {self._token}"}

    def _client(self, address: WebAddress) -> httpx2.AsyncClient:
        """Return the HTTP client for an address. For loopback addresses, the client uses no proxy."""
        if (client := self._clients.get(address.loopback)) is None:
            client = self._clients[address.loopback] = _open_client(self._timeout, address)
            self._stack.push_async_callback(client.aclose)
        return client


def _open_client(timeout: float, address: WebAddress) -> httpx2.AsyncClient:
    try:
        return httpx2.AsyncClient(
            trust_env=not address.loopback,
            follow_redirects=False,
            timeout=timeout,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            headers={"User-Agent": f"skillwire/{__version__}", "Accept-Encoding": "gzip"},
        )
    except (OSError, ValueError, ImportError) as error:  # an unusable proxy or certificate
        reason = escape_invisible(str(error), _SHOWN_REASON)
        raise SourceError(
            f"the environment names a proxy or certificates that do not work: {reason}"
        ) from error


def _redirect_target(address: WebAddress, location: str) -> WebAddress:
    try:
        return address.join(location)
    except SourceError as error:
        raise SourceError(f"{address.shown} redirects, but {error}") from error


def _remedy(address: WebAddress) -> str:
    return f"allow `{address.origin}` with `allowed-origins` in the configuration"


def _sendable_header(value: str) -> str:
    """Return a header's value if it can be sent back unchanged, else an empty string."""
    return value if len(value) <= _MAX_VALIDATOR and value.isascii() and value.isprintable() else ""


async def _body(response: httpx2.Response, address: WebAddress, limit: int) -> bytes:
    try:
        return await read_response(response, limit, decoded=True)
    except BodyTooLargeError as error:
        raise SourceError(f"{address.shown} sends more than {limit:,} bytes") from error
