"""HTTP to a server that nobody vouches for: answers of bounded size, and secrets for one origin only."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
from mcp.client.streamable_http import streamable_http_client

MAX_ANSWER = 64 * 1024 * 1024
"""Bytes of one answer: the largest file that is read, in the longest way to spell it in JSON."""
_CONNECT, _READ = 30.0, 60.0
"""Seconds to connect, and between two pieces of an answer."""
_OURS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"}
)
"""Headers that the protocol needs as they are, beside all that begin with `mcp-`."""


@asynccontextmanager
async def over_http(
    url: str,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    limit: int = MAX_ANSWER,
) -> AsyncGenerator[Any]:
    """Yield the streams of a connection for a client of the SDK; the token wins over such a header."""
    sent = {**(headers or {}), **({} if token is None else {"Authorization": f"Bearer {token}"})}

    async def bound(response: httpx2.Response) -> None:
        encoded = response.headers.get("content-encoding", "identity").lower() != "identity"
        response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream), limit, encoded=encoded)

    async with (
        httpx2.AsyncClient(
            # A few compressed bytes may be very many.
            headers={"Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(_CONNECT, read=_READ),
            auth=_OwnOrigin(httpx2.URL(url), sent) if sent else None,
            event_hooks={"response": [bound]},
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=limit) as streams,
    ):
        yield streams


class _OwnOrigin(httpx2.Auth):
    """Headers that go to the origin they were given for, wherever a redirect leads."""

    def __init__(self, url: httpx2.URL, headers: Mapping[str, str]) -> None:
        self._origin = _origin(url)
        self._headers = {name: value for name, value in headers.items() if not _is_ours(name.lower())}

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        for name in self._headers:
            request.headers.pop(name, None)
        if _origin(request.url) == self._origin:
            request.headers.update(self._headers)
        yield request


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, up to a number of bytes."""

    def __init__(self, stream: httpx2.AsyncByteStream, limit: int, *, encoded: bool) -> None:
        self._stream, self._limit, self._encoded = stream, limit, encoded

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._encoded:
            raise httpx2.StreamError("the answer is compressed, which was not asked for")
        left = self._limit
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise httpx2.StreamError(f"the answer has more than {self._limit:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _is_ours(name: str) -> bool:
    return name in _OURS or name.startswith("mcp-")
