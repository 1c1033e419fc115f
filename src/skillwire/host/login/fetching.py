"""HTTP to login servers that another server named: where it may lead, and how much may come back."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Self

import anyio
import httpx2

from skillwire.host.login.errors import LoginError, UnansweredError
from skillwire.host.reaching.inside import is_inside_literal, is_loopback
from skillwire.host.reaching.traffic import Traffic
from skillwire.host.reaching.web import PublicTransport, counting_client, head_trace
from skillwire.model.display import quoted, visible

_CONNECT = _READ = 15.0
"""Seconds to connect, and between two pieces of an answer."""
_PATIENCE = 30.0
"""Seconds for one request, whatever comes."""
_MOST_BYTES = 256 * 1024
"""Bytes of one answer. A document about a login server has a few kilobytes."""
_MOST_REQUESTS = 40
"""Requests of one login, redirects included."""
_REFUSAL = "it is on this machine or in a private network, and the server that names it is not"
ALLOW_PRIVATE = "if you want that, add `--allow-private`"


class LoginFetcher:
    """Sends the requests of one login, each to where it may lead. Use it as a context manager.

    A server on the public network cannot lead to this machine or to a private network, neither by an address
    nor by a name. Nothing is sent over plain `http`, but from loopback to loopback.
    """

    def __init__(self, label: str, server: str, *, allow_private: bool = False) -> None:
        """`server` is the URL that the person, or a file of theirs, named. Raises `LoginError`."""
        self._label = label
        self._server = httpx2.URL(server)
        self._lifted = allow_private or is_inside_literal(self._server.host)
        self._left = _MOST_REQUESTS
        self._traffic = Traffic()
        self._stack = AsyncExitStack()
        self._clients: dict[bool, httpx2.AsyncClient] = {}
        self.check(self._server, "the server")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def check(self, url: httpx2.URL, what: str) -> None:
        """Raise `LoginError` if nothing may be sent to `url`, nor shown to a person as a page to open."""
        shown = quoted(str(url.copy_with(query=None, fragment=None, userinfo=b"")))
        if url.scheme not in {"https", "http"} or not url.host or url.userinfo:
            raise LoginError(self._label, f"{what} is at {shown}, which is no address of the web")
        if url.scheme == "http" and not (is_loopback(url.host) and is_loopback(self._server.host)):
            told = f"{what} is at {shown}: over plain `http`, anyone on the way could read the tokens"
            raise LoginError(self._label, told, "use its `https` address")
        if self._is_public_only(url) and is_inside_literal(url.host):
            raise LoginError(self._label, f"{what} is at {shown}: {_REFUSAL}", ALLOW_PRIVATE)

    async def send(self, request: httpx2.Request, what: str = "the login server") -> httpx2.Response:
        """Return the whole answer. Raises `LoginError`, or `UnansweredError` if none came."""
        self.check(request.url, what)
        self._left -= 1
        if self._left < 0:
            raise LoginError(self._label, f"it takes more than {_MOST_REQUESTS} requests")
        request.headers["Accept-Encoding"] = "identity"
        request.extensions = {**request.extensions, "trace": head_trace(self._traffic)}
        request.extensions["timeout"] = httpx2.Timeout(_CONNECT, read=_READ).as_dict()
        where = quoted(f"{request.url.scheme}://{request.url.netloc.decode(errors='replace')}")
        try:
            with anyio.fail_after(_PATIENCE):
                return await self._whole(request)
        except TimeoutError as error:
            raise UnansweredError(f"{what} at {where} does not answer in time") from error
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            why = self._traffic.trouble or visible(str(error) or type(error).__name__, 200)
            if _REFUSAL in why:
                raise LoginError(self._label, f"{what} is at {where}: {_REFUSAL}", ALLOW_PRIVATE) from error
            raise UnansweredError(f"{what} at {where} does not answer: {why}") from error

    async def _whole(self, request: httpx2.Request) -> httpx2.Response:
        client = await self._client(public_only=self._is_public_only(request.url))
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise httpx2.StreamError("the answer is compressed, which was not asked for")
            content = await _bounded(response.aiter_raw())
        finally:
            with suppress(Exception):
                await response.aclose()
        kept = [(name, value) for name, value in response.headers.multi_items() if name in _HEADERS]
        answer = httpx2.Response(response.status_code, headers=kept, content=content, request=request)
        answer.next_request = response.next_request
        return answer

    async def _client(self, *, public_only: bool) -> httpx2.AsyncClient:
        if public_only not in self._clients:
            transport = PublicTransport(_REFUSAL) if public_only else None
            self._clients[public_only] = await self._stack.enter_async_context(
                counting_client(transport=transport)
            )
        return self._clients[public_only]

    def _is_public_only(self, url: httpx2.URL) -> bool:
        own = (url.scheme, url.host, url.port) == (
            self._server.scheme,
            self._server.host,
            self._server.port,
        )
        return not (self._lifted or own)


_HEADERS = frozenset({"content-type", "location", "www-authenticate"})
"""What of an answer is looked at beside its body."""


async def _bounded(pieces: AsyncIterator[bytes]) -> bytes:
    content = bytearray()
    async for piece in pieces:
        content += piece
        if len(content) > _MOST_BYTES:
            raise httpx2.StreamError(f"the answer has more than {_MOST_BYTES:,} bytes")
    return bytes(content)
