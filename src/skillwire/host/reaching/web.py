"""HTTP to an untrusted server: answers of bounded size, and secrets for one origin only."""

import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, cast

import anyio
import httpcore2
import httpx2
import orjson
from mcp.client.streamable_http import streamable_http_client

from skillwire.host.reaching.errors import LoginAdvice
from skillwire.host.reaching.inside import addresses_of, is_inside, is_loopback
from skillwire.host.reaching.refused import FORBIDDEN, UNAUTHORIZED, explain, is_refusal, scope_of
from skillwire.host.reaching.target import TokenSource
from skillwire.host.reaching.traffic import Answer, JsonCounter, Meter, TooMuchError, Traffic
from skillwire.model.errors import SkillwireError

_CONNECT, _READ = 30.0, 60.0
"""Seconds to connect, and between two pieces of an answer."""
_FAREWELL = 2.0
"""Seconds for a server to confirm that a session ends."""
_STREAM_PAUSE, _FREE_STREAMS = 1.0, 3
"""Seconds between two requests for a stream of news, after the first few: a server may end each at once."""
_RECEIVING = "receive_response_headers"
"""What `httpcore2` calls the wait for the head of an answer."""
_NAMED_BY_A_PROJECT = (
    "it is plain `http` on this machine or in a private network, and a project's file names it"
)
_OURS = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"}
)
"""Headers that the protocol needs as they are, beside all that begin with `mcp-`."""


@asynccontextmanager
async def over_http(
    url: str,
    traffic: Traffic,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    public_only: bool = False,
    tokens: TokenSource | None = None,
    advice: LoginAdvice | None = None,
) -> AsyncGenerator[Any]:
    """Yield the streams of a connection for a client of the SDK; the token wins over such a header.

    With `public_only`, no connection is made to this machine or to private networks. `tokens` supplies the
    token of a stored login. `advice` words the error if the server requires a login.
    """
    sent = {**(headers or {}), **({} if token is None else {"Authorization": f"Bearer {token}"})}
    pacing = _Pacing(traffic)

    async def bound(response: httpx2.Response) -> None:
        stream = cast("httpx2.AsyncByteStream", response.stream)
        response.stream = _Bounded(stream, _refusal(response), _answer(response.request, traffic), traffic)

    async with (
        counting_client(
            # A few compressed bytes may be very many.
            headers={"Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(_CONNECT, read=_READ),
            auth=_Authorization(httpx2.URL(url), sent, tokens, advice),
            transport=PublicTransport(_NAMED_BY_A_PROJECT) if public_only else None,
            event_hooks={"request": [pacing.before], "response": [bound]},
        ) as client,
        streamable_http_client(
            url, http_client=client, max_sse_event_size=traffic.limits.read_bytes
        ) as streams,
    ):
        yield streams


def counting_client(**options: Any) -> httpx2.AsyncClient:
    """Return a client that counts what comes before an answer, directly and by every proxy."""
    client = httpx2.AsyncClient(**options)
    # Nothing public leads there, and a transport of our own would know no proxy of the environment.
    parts: dict[str, Any] = vars(client)
    transports: list[Any] = [parts["_transport"], *parts["_mounts"].values()]
    for transport in transports:
        if transport is not None:  # as it is for an address that no proxy is used for
            pool: Any = transport._pool  # noqa: SLF001
            pool._network_backend = _Counting(pool._network_backend)  # noqa: SLF001
    return client


class _Head:
    """Counts the bytes before an answer: any number of heads may say that it is to come."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic, self._left = traffic, traffic.limits.head_bytes

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            most = self._traffic.limits.head_bytes
            self._traffic.give_up(f"the server sends more than {most:,} bytes before an answer")
            raise httpcore2.ReadError(self._traffic.trouble)


_head: ContextVar[_Head | None] = ContextVar("head", default=None)


class _Counting(httpcore2.AsyncNetworkBackend):
    """A network whose connections count what comes while the head of an answer is waited for."""

    def __init__(self, network: httpcore2.AsyncNetworkBackend) -> None:
        self._network = network

    async def connect_tcp(self, *where: Any, **how: Any) -> httpcore2.AsyncNetworkStream:
        return _CountedStream(await self._network.connect_tcp(*where, **how))

    async def connect_unix_socket(self, *where: Any, **how: Any) -> httpcore2.AsyncNetworkStream:
        return _CountedStream(await self._network.connect_unix_socket(*where, **how))

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class _CountedStream(httpcore2.AsyncNetworkStream):
    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as in the base class
        piece = await self._stream.read(max_bytes, timeout)
        if (head := _head.get()) is not None:
            head.take(len(piece))
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as in the base class
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(self, *how: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return _CountedStream(await self._stream.start_tls(*how, **options))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class PublicTransport(httpx2.AsyncHTTPTransport):
    """Connects to public addresses only. The name is looked up once: what is checked is what is reached.

    No proxy of the environment is used, because a proxy looks names up by itself.
    """

    def __init__(self, refusal: str) -> None:
        """`refusal` says why an address on this machine or in a private network is not reached."""
        super().__init__()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(), network_backend=_PublicOnly(refusal)
        )


class _PublicOnly(httpcore2.AsyncNetworkBackend):
    def __init__(self, refusal: str) -> None:
        self._refusal = refusal
        self._network: httpcore2.AsyncNetworkBackend = cast("Any", httpcore2.AnyIOBackend)()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - as in the base class
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            found = list(addresses_of(await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
        if not found or any(map(is_inside, found)):
            raise httpcore2.ConnectError(self._refusal)
        return await self._network.connect_tcp(found[0], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class _Pacing:
    """Holds back requests that the SDK repeats as fast as a server wants, and shortens the last one."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic = traffic
        self._streams, self._next = 0, 0.0

    async def before(self, request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, "trace": head_trace(self._traffic)}
        if request.method == "DELETE":
            request.extensions = {**request.extensions, "timeout": httpx2.Timeout(_FAREWELL).as_dict()}
        elif request.method == "GET":
            self._streams += 1
            now = time.monotonic()
            if self._streams > _FREE_STREAMS:
                self._next = max(self._next, now) + _STREAM_PAUSE
                await anyio.sleep(self._next - now)


def head_trace(traffic: Traffic) -> Callable[[str, Mapping[str, Any]], Awaitable[None]]:
    """Return what begins and ends the count of a head. It is called by the task that reads it."""

    async def trace(event: str, _: Mapping[str, Any]) -> None:
        if _RECEIVING in event:
            _head.set(_Head(traffic) if event.endswith(".started") else None)

    return trace


def _answer(request: httpx2.Request, traffic: Traffic) -> Answer | None:
    """Return what the answer to a request may have; None for a stream of news, which has no end."""
    answer = None
    if request.method == "POST":
        message: object = orjson.loads(request.content)  # we wrote it
        answer = traffic.answer_to(cast("dict[str, object]", message).get("id"))
    elif request.method == "GET":
        return None
    if answer is not None and answer.stream:
        return None
    return answer or Answer(traffic.limits.small_answer_bytes, traffic.limits.answer_values)


def _refusal(response: httpx2.Response) -> str:
    """Return why an answer is not read at all, if it is not."""
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        return "the answer is compressed, which was not asked for"
    if (response.charset_encoding or "utf-8").lower() not in {"utf-8", "utf8", "us-ascii"}:
        return "the answer is not UTF-8"  # and in other encodings its values cannot be counted
    return ""


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


class _Authorization(_OwnOrigin):
    """Headers and the token of a login, for one origin. A token that the server refuses is renewed once."""

    def __init__(
        self,
        url: httpx2.URL,
        headers: Mapping[str, str],
        tokens: TokenSource | None = None,
        advice: LoginAdvice | None = None,
    ) -> None:
        super().__init__(url, headers)
        self._fixed = any(name.lower() == "authorization" for name in self._headers)
        self._tokens = None if self._fixed or not _keeps_secrets(url) else tokens
        self._advice = advice

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        next(self.auth_flow(request))
        if _origin(request.url) != self._origin:
            yield request
            return
        token, trouble = await self._asked(None)
        _bear(request, token)
        response = yield request
        if response.status_code == UNAUTHORIZED and token is not None:
            fresh, trouble = await self._asked(token)
            if fresh is not None and fresh != token:
                _bear(request, fresh)
                response = yield request
        if self._advice is not None and is_refusal(response):
            explain(response, trouble or self._message(self._advice, response, had=token is not None))

    async def _asked(self, refused: str | None) -> tuple[str | None, str]:
        """Return the token to send, and what went wrong if there should be one."""
        if self._tokens is None:
            return None, ""
        try:
            if refused is None:
                return await self._tokens.token(), ""
            return await self._tokens.renewed(refused), ""
        except SkillwireError as error:
            return None, str(error)

    def _message(self, advice: LoginAdvice, response: httpx2.Response, *, had: bool) -> str:
        if response.status_code == FORBIDDEN:
            return advice.scope_missing(scope_of(response))
        if self._fixed:
            return advice.token_refused()
        return advice.expired() if had else advice.needed()


def _bear(request: httpx2.Request, token: str | None) -> None:
    if token is not None:
        request.headers["Authorization"] = f"Bearer {token}"


def _keeps_secrets(url: httpx2.URL) -> bool:
    """Whether no one between here and the server can read what is sent."""
    return url.scheme == "https" or is_loopback(url.host)


class _Bounded(httpx2.AsyncByteStream):
    """The body of an answer, as long as it is not more than that answer may have."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, refusal: str, answer: Answer | None, traffic: Traffic
    ) -> None:
        self._stream, self._refusal, self._answer, self._traffic = stream, refusal, answer, traffic

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._refusal:
            raise httpx2.StreamError(self._refusal)
        meter = None if self._answer is None else Meter(self._answer)
        counter = JsonCounter()
        async for chunk in self._stream:
            if meter is None:
                before = counter.values
                self._traffic.news(len(chunk), counter.feed(chunk) - before, messages=1)
            else:
                try:
                    meter.feed(chunk)
                except TooMuchError as error:
                    raise httpx2.StreamError(str(error)) from error
            if self._traffic.trouble:
                raise httpx2.StreamError(self._traffic.trouble)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _is_ours(name: str) -> bool:
    return name in _OURS or name.startswith("mcp-")
