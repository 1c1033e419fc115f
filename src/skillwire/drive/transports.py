"""Transports that connect a program to a server: WebSocket and the HTTP loop."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import anyio
import httpx2
import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from skillwire.core.json_text import JsonTooLargeError, load_bounded_json
from skillwire.core.record import Json
from skillwire.drive.messages import LOOP_PATH, SESSION_HEADER
from skillwire.errors import InvalidValueError, SkillwireError
from skillwire.safe_text import quoted

REPLACED = 4000
_SCHEMES = frozenset({"ws", "wss", "http", "https"})
_URL_RULE = "a URL such as `http://127.0.0.1:8765` or, for programs, `ws://127.0.0.1:8765`"
_JSON = {"content-type": "application/json"}
_WAIT_MS = 25_000
_TIMEOUT = 10.0
"""Timeout in seconds for a request that does not wait for a message."""
_CLOSE_TIMEOUT = 2.0
"""Maximum number of seconds to close a connection properly, even after cancellation."""
_REFUSALS = frozenset({1003, 1007, 1008})
_REFUSED_STATUS = frozenset({400, 401, 403, 404, 405, 413, 421, 431})
_MAX_VALUES = 100_000
"""Maximum number of JSON values in one message from the server."""


class ConnectionLostError(SkillwireError):
    """The connection broke or could not be established. Connecting again may help."""


class RefusedByServerError(SkillwireError):
    """The server refuses this program. Connecting again would not help."""


class ReplacedError(RefusedByServerError):
    """Another program has registered with the same id."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address of a server, and the transport to use."""

    url: str
    """The URL, without a trailing slash and without `/mcp` at the end."""
    over_socket: bool
    local: bool

    @classmethod
    def parse(cls, text: str) -> "ServerAddress":
        """Parse a URL. `ws` and `wss` select a WebSocket; `http` and `https` select the HTTP loop.

        Raises `InvalidValueError` if the URL is invalid or has another scheme.
        """
        try:
            parts = urlsplit(text)
            known = parts.scheme in _SCHEMES and parts.port != 0
        except ValueError as error:
            raise InvalidValueError("server", text, _URL_RULE) from error
        if not known or not parts.hostname:
            raise InvalidValueError("server", text, _URL_RULE)
        # Also accept the URL that `skillwire serve` prints for MCP clients.
        path = parts.path.rstrip("/").removesuffix("/mcp")
        local = parts.hostname in {"localhost", "::1"} or parts.hostname.startswith("127.")
        return cls(f"{parts.scheme}://{parts.netloc}{path}", parts.scheme.startswith("ws"), local)


class Transport(ABC):
    """One connection to a server."""

    @abstractmethod
    async def send(self, message: Mapping[str, Json]) -> None:
        """Send a message. Raises `ConnectionLostError` or `RefusedByServerError`."""

    @abstractmethod
    async def receive(self) -> object:
        """Return the next message. Raises `ConnectionLostError` or `RefusedByServerError`."""


@asynccontextmanager
async def open_transport(address: ServerAddress, headers: Mapping[str, str]) -> AsyncGenerator[Transport]:
    """Yield a connection to the server. Raises `ConnectionLostError` or `RefusedByServerError`."""
    open_connection = _over_socket if address.over_socket else _over_loop
    async with open_connection(address, headers) as transport:
        yield transport


@asynccontextmanager
async def _over_socket(address: ServerAddress, headers: Mapping[str, str]) -> AsyncGenerator[Transport]:
    try:
        connection = await connect(
            address.url,
            additional_headers=dict(headers),
            compression=None,
            proxy=None if address.local else True,
        )
    except InvalidStatus as error:
        status, body = error.response.status_code, bytes(error.response.body or b"")
        raise _error_for_status(status, _error_message(body)) from error
    except (OSError, InvalidHandshake, TimeoutError) as error:
        raise ConnectionLostError(f"cannot connect to {quoted(address.url)}: {error}") from error
    try:
        yield _SocketTransport(connection)
    finally:
        with anyio.move_on_after(_CLOSE_TIMEOUT, shield=True):
            await connection.close()


class _SocketTransport(Transport):
    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, message: Mapping[str, Json]) -> None:
        try:
            await self._connection.send(orjson.dumps(message).decode())
        except ConnectionClosed as error:
            raise _error_for_close(error) from error

    async def receive(self) -> object:
        try:
            return load_bounded_json(await self._connection.recv(decode=False), max_values=_MAX_VALUES)
        except ConnectionClosed as error:
            raise _error_for_close(error) from error
        except (orjson.JSONDecodeError, JsonTooLargeError) as error:
            raise ConnectionLostError(
                "the server sent a message that is not JSON, or is too large"
            ) from error


@asynccontextmanager
async def _over_loop(address: ServerAddress, headers: Mapping[str, str]) -> AsyncGenerator[Transport]:
    async with httpx2.AsyncClient(
        base_url=f"{address.url}{LOOP_PATH}/",
        headers=dict(headers),
        timeout=_TIMEOUT,
        trust_env=not address.local,
    ) as http:
        transport = LoopTransport(http)
        await transport.begin()
        try:
            yield transport
        finally:
            with anyio.move_on_after(_CLOSE_TIMEOUT, shield=True):
                await transport.end()


class LoopTransport(Transport):
    """The program's side of a session over the HTTP loop."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http
        self._session: dict[str, str] = {}

    async def begin(self) -> None:
        """Open the session. Raises `ConnectionLostError` or `RefusedByServerError`."""
        found = _fields((await self._ask("POST", "connect", b"{}")).content).get("sessionId")
        if not isinstance(found, str) or not found.isascii():
            raise ConnectionLostError("the server started no session; was it started with `--drive`?")
        self._session = {SESSION_HEADER: found}

    async def end(self) -> None:
        """End the session. Errors are ignored, because the session is over in any case."""
        try:
            await self._ask("POST", "disconnect")
        except (ConnectionLostError, RefusedByServerError):
            return  # the session is over in any case

    async def send(self, message: Mapping[str, Json]) -> None:
        await self._ask("POST", "send", orjson.dumps({"message": message}))

    async def receive(self) -> object:
        while True:
            answer = await self._ask(
                "GET", f"poll?waitMs={_WAIT_MS}", timeout_seconds=_TIMEOUT + _WAIT_MS / 1000
            )
            if answer.status_code == 200:
                return _fields(answer.content).get("message")

    async def _ask(
        self, method: str, path: str, body: bytes = b"", timeout_seconds: float = _TIMEOUT
    ) -> httpx2.Response:
        headers = {**self._session, **(_JSON if body else {})}
        try:
            answer = await self._http.request(
                method, path, headers=headers, content=body, timeout=timeout_seconds
            )
        except httpx2.TransportError as error:
            raise ConnectionLostError(f"cannot reach {quoted(str(self._http.base_url))}: {error}") from error
        if answer.is_success:
            return answer
        message, code = _error_message(answer.content), _closing_code(answer.content)
        if code == REPLACED:
            raise ReplacedError(message)
        if answer.status_code == 404 and self._session:
            raise ConnectionLostError("the session is over")
        raise _error_for_status(answer.status_code, message)


def _error_for_status(status: int, message: str) -> SkillwireError:
    if status in _REFUSED_STATUS:
        return RefusedByServerError(f"the server answered {status}: {message}")
    return ConnectionLostError(f"the server answered {status}: {message}")


def _error_for_close(error: ConnectionClosed) -> SkillwireError:
    received = error.rcvd
    if received is None:
        return ConnectionLostError("the connection was lost")
    if received.code == REPLACED:
        return ReplacedError(received.reason)
    if received.code in _REFUSALS:
        return RefusedByServerError(received.reason or f"the server closed with {received.code}")
    return ConnectionLostError(received.reason or f"the server closed with {received.code}")


def _error_message(body: bytes) -> str:
    """Return the error message in a response, or a default message if it has none."""
    found = _fields(body).get("error")
    return found if isinstance(found, str) else "no reason given; was the server started with `--drive`?"


def _closing_code(body: bytes) -> Json:
    return _fields(body).get("code")


def _fields(body: bytes) -> dict[str, Json]:
    try:
        found = load_bounded_json(body, max_values=_MAX_VALUES)
    except (orjson.JSONDecodeError, JsonTooLargeError):
        return {}
    return cast("dict[str, Json]", found) if isinstance(found, dict) else {}
