"""HTTP clients and transports that limit response headers and can refuse private addresses."""

import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any, cast

import anyio
import httpcore2
import httpx2

from skillwire.host.connections.addresses import addresses_of, is_private_address
from skillwire.host.connections.traffic import Traffic

_RECEIVING = "receive_response_headers"
"""The text in the names of `httpcore2` trace events about response headers."""


def counting_client(**options: Any) -> httpx2.AsyncClient:
    """Return a client that limits the size of response headers, for direct and proxied connections.

    Each request needs the trace function from `head_trace`.
    """
    client = httpx2.AsyncClient(**options)
    # There is no public API for this. A custom transport would ignore proxies from the environment.
    parts: dict[str, Any] = vars(client)
    transports: list[Any] = [parts["_transport"], *parts["_mounts"].values()]
    for transport in transports:
        if transport is not None:  # None for addresses without a proxy
            pool: Any = transport._pool  # noqa: SLF001
            pool._network_backend = _Counting(pool._network_backend)  # noqa: SLF001
    return client


class _Head:
    """Counts the bytes of response headers, including any number of interim (1xx) responses.

    Too many bytes end the connection.
    """

    def __init__(self, traffic: Traffic) -> None:
        self._traffic, self._left = traffic, traffic.limits.head_bytes

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            limit = self._traffic.limits.head_bytes
            self._traffic.abort(f"the server sends more than {limit:,} bytes of response headers")
            raise httpcore2.ReadError(self._traffic.failure)


_head: ContextVar[_Head | None] = ContextVar("head", default=None)


class _Counting(httpcore2.AsyncNetworkBackend):
    """A network backend whose connections count the bytes of response headers."""

    def __init__(self, network: httpcore2.AsyncNetworkBackend) -> None:
        self._network = network

    async def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        return _CountedStream(await self._network.connect_tcp(*args, **kwargs))

    async def connect_unix_socket(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        return _CountedStream(await self._network.connect_unix_socket(*args, **kwargs))

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class _CountedStream(httpcore2.AsyncNetworkStream):
    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as in the base class
        chunk = await self._stream.read(max_bytes, timeout)
        if (head := _head.get()) is not None:
            head.take(len(chunk))
        return chunk

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as in the base class
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(self, *args: Any, **kwargs: Any) -> httpcore2.AsyncNetworkStream:
        return _CountedStream(await self._stream.start_tls(*args, **kwargs))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class PublicTransport(httpx2.AsyncHTTPTransport):
    """Connects to public addresses only.

    A name is resolved only once, so that the checked address is used. Proxies from the environment are not
    used, because a proxy resolves names itself.
    """

    def __init__(self, refusal: str) -> None:
        """Create a transport. `refusal` is the error message for a loopback or private address."""
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
        if not found or any(map(is_private_address, found)):
            raise httpcore2.ConnectError(self._refusal)
        return await self._network.connect_tcp(found[0], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


def head_trace(traffic: Traffic) -> Callable[[str, Mapping[str, Any]], Awaitable[None]]:
    """Return a trace function for `httpcore2` that counts the bytes of response headers.

    The function must be called in the task that reads the response.
    """

    async def trace(event: str, _: Mapping[str, Any]) -> None:
        if _RECEIVING in event:
            _head.set(_Head(traffic) if event.endswith(".started") else None)

    return trace
