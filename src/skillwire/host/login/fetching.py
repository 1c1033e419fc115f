"""HTTP to login servers, which untrusted servers name: where requests may go, and how much is read."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from types import TracebackType
from typing import Self

import anyio
import httpx2

from skillwire import __version__
from skillwire.host.login.record import LoginError, LoginServerError
from skillwire.host.reaching.inside import is_inside_literal, is_loopback
from skillwire.host.reaching.traffic import Traffic
from skillwire.host.reaching.web import PublicTransport, counting_client, head_trace
from skillwire.model.display import quoted, visible

_CONNECT = _READ = 15.0
"""Seconds to connect, and between two pieces of an answer."""
_REQUEST_SECONDS, _SECONDS = 20.0, 90.0
"""Seconds for one request, and for all requests of one login together."""
_MOST_BYTES = 256 * 1024
"""Bytes of one answer. The metadata of a login server has a few kilobytes."""
_MOST_REQUESTS = 40
"""Requests of one login, redirects included."""
_REFUSAL = "it is on this machine or in a private network, and the server that names it is not"
ALLOW_PRIVATE = "if you want that, add `--allow-private`"


class LoginFetcher:
    """Sends the requests of one login. Use it as a context manager.

    A public server cannot make this machine connect to itself or to a private network, neither by an address
    nor by a name. Plain `http` is used between loopback addresses only.
    """

    def __init__(
        self, label: str, server: str, *, allow_private: bool = False, public_only: bool = False
    ) -> None:
        """`server` is the URL that the person, or one of their files, names.

        With `public_only`, that URL is reached at a public address only, too. Raises `LoginError`.
        """
        self._label = label
        self._server = httpx2.URL(server)
        self._public_only = public_only and not allow_private
        self._lifted = allow_private or (not public_only and is_inside_literal(self._server.host))
        self._left, self._seconds = _MOST_REQUESTS, _SECONDS
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
        """Raise `LoginError` if no request may go to `url`, and no person may be sent there."""
        shown = quoted(str(url.copy_with(query=None, fragment=None, userinfo=b"")))
        if url.scheme not in {"https", "http"} or not url.host or url.userinfo:
            raise LoginError(self._label, f"{what} is at {shown}, which is no web address")
        if url.scheme == "http" and not (is_loopback(url.host) and is_loopback(self._server.host)):
            told = f"{what} is at {shown}: over plain `http`, others on the network could read the tokens"
            raise LoginError(self._label, told, "use its `https` address")
        if self._is_public_only(url) and is_inside_literal(url.host):
            raise LoginError(self._label, f"{what} is at {shown}: {_REFUSAL}", ALLOW_PRIVATE)

    async def send(self, request: httpx2.Request, what: str = "the login server") -> httpx2.Response:
        """Return the whole answer. Raises `LoginError`, or `LoginServerError` if none came."""
        self.check(request.url, what)
        self._left -= 1
        if self._left < 0:
            raise LoginError(self._label, f"it takes more than {_MOST_REQUESTS} requests")
        request.headers.setdefault("Accept", "application/json")  # some answer with a form otherwise
        request.headers["User-Agent"] = f"skillwire/{__version__}"
        request.headers["Accept-Encoding"] = "identity"
        request.extensions = {**request.extensions, "trace": head_trace(self._traffic)}
        request.extensions["timeout"] = httpx2.Timeout(_CONNECT, read=_READ).as_dict()
        where = quoted(f"{request.url.scheme}://{request.url.netloc.decode(errors='replace')}")
        began = anyio.current_time()
        try:
            with anyio.fail_after(min(_REQUEST_SECONDS, self._seconds)):
                return await self._whole(request)
        except TimeoutError as error:
            raise LoginServerError(f"{what} at {where} does not answer in time") from error
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            why = self._traffic.trouble or visible(str(error) or type(error).__name__, 200)
            if _REFUSAL in why:
                raise LoginError(self._label, f"{what} is at {where}: {_REFUSAL}", ALLOW_PRIVATE) from error
            raise LoginServerError(f"{what} at {where} does not answer: {why}") from error
        finally:
            self._seconds = max(self._seconds - (anyio.current_time() - began), 0.0)

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
        if self._lifted:
            return False
        own = all(getattr(url, part) == getattr(self._server, part) for part in ("scheme", "host", "port"))
        return self._public_only or not own


_HEADERS = frozenset({"content-type", "location", "www-authenticate"})
"""The headers of an answer that are used."""


async def _bounded(pieces: AsyncIterator[bytes]) -> bytes:
    content = bytearray()
    async for piece in pieces:
        content += piece
        if len(content) > _MOST_BYTES:
            raise httpx2.StreamError(f"the answer has more than {_MOST_BYTES:,} bytes")
    return bytes(content)
