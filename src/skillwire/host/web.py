"""HTTP to a server that nobody vouches for: answers of bounded size, and a token for one origin only."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager
from typing import Any, cast

import httpx2
from mcp.client.streamable_http import streamable_http_client

MAX_ANSWER = 64 * 1024 * 1024
"""Bytes of one answer: the largest file that is read, in the longest way to spell it in JSON."""
_CONNECT, _READ = 30.0, 60.0
"""Seconds to connect, and between two pieces of an answer."""


@asynccontextmanager
async def over_http(url: str, token: str | None = None, limit: int = MAX_ANSWER) -> AsyncGenerator[Any]:
    """Yield the streams of a connection for a client of the SDK."""

    async def bound(response: httpx2.Response) -> None:
        encoded = response.headers.get("content-encoding", "identity").lower() != "identity"
        response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream), limit, encoded=encoded)

    async with (
        httpx2.AsyncClient(
            # A few compressed bytes may be very many.
            headers={"Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(_CONNECT, read=_READ),
            auth=None if token is None else _Bearer(httpx2.URL(url), token),
            event_hooks={"response": [bound]},
        ) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=limit) as streams,
    ):
        yield streams


class _Bearer(httpx2.Auth):
    """A token that goes to the origin it was given for, wherever a redirect leads."""

    def __init__(self, url: httpx2.URL, token: str) -> None:
        self._origin, self._token = _origin(url), token

    def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        request.headers.pop("Authorization", None)
        if _origin(request.url) == self._origin:
            request.headers["Authorization"] = f"Bearer {self._token}"
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
