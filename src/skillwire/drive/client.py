"""`DriveClient`: expose live skills from a program, and stay connected to a server."""

import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Self, TypeVar, overload

import anyio
import orjson
from anyio.abc import TaskGroup

from skillwire.core.record import Json
from skillwire.drive.exposed_paths import ExposedPaths, Options, Resolver
from skillwire.drive.fields import ShapeError
from skillwire.drive.messages import CallClient, Ping, Pong, ping, pong, read_server_message
from skillwire.drive.registration import Auth, checked_id, without_none
from skillwire.drive.transports import (
    ConnectionLostError,
    RefusedByServerError,
    ReplacedError,
    ServerAddress,
    Transport,
    open_transport,
)
from skillwire.errors import InvalidValueError, UsageError
from skillwire.safe_text import quoted

_R = TypeVar("_R", bound=Resolver)


@dataclass(slots=True)
class ClientConnection:
    """One connection to a server. Registers the program, answers calls, and reports changed paths."""

    transport: Transport
    exposures: ExposedPaths
    client_id: str
    registration: Callable[[], dict[str, Json]]
    registered: Callable[[], None]
    """Called when the server has processed the registration."""
    _failures: list[ConnectionLostError | RefusedByServerError] = field(
        default_factory=list[ConnectionLostError | RefusedByServerError]
    )

    async def run(self) -> None:
        """Exchange messages until the connection ends.

        Then raises `ConnectionLostError` or `RefusedByServerError`.
        """
        self.exposures.changed = anyio.Event()
        await self.transport.send(self.registration())
        # The server does not acknowledge a registration, but it processes messages in order. So once the pong
        # arrives, the registration has been processed.
        await self.transport.send(ping(int(time.time() * 1000)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._run_guarded, tasks, self._send_updates)
            await self._run_guarded(tasks, lambda: self._listen(tasks))
        raise self._failures[0]

    async def _run_guarded(self, tasks: TaskGroup, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work`. If the connection fails, store the error and cancel all tasks of the connection."""
        try:
            await work()
        except (ConnectionLostError, RefusedByServerError) as error:
            self._failures.append(error)
            tasks.cancel_scope.cancel()

    async def _listen(self, tasks: TaskGroup) -> None:
        while True:
            match _parse_message(await self.transport.receive()):
                case CallClient() as call:
                    tasks.start_soon(self._run_guarded, tasks, lambda call=call: self._answer(call))
                case Ping(timestamp):
                    await self.transport.send(pong(timestamp))
                case Pong():
                    self.registered()

    async def _answer(self, call: CallClient) -> None:
        await self.transport.send(await self.exposures.result(call))

    async def _send_updates(self) -> None:
        while True:
            await self.exposures.changed.wait()
            self.exposures.changed = anyio.Event()
            paths = self.exposures.descriptors()
            await self.transport.send(
                {"type": "updateClientCatalog", "clientId": self.client_id, "paths": paths}
            )


def _parse_message(value: object) -> CallClient | Ping | Pong:
    try:
        return read_server_message(value)
    except ShapeError as error:
        raise ConnectionLostError(f"the server sent an invalid message: {error}") from error


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential delays with jitter between attempts to connect, in seconds."""

    first: float = 0.5
    factor: float = 2.0
    most: float = 30.0

    def seconds(self, attempt: int) -> float:
        """Return the pause before retry number `attempt`, counted from 1.

        The pause varies randomly by up to 20 %, so it may exceed `most`.
        """
        exponent = min(attempt - 1, 32)
        pause = min(self.first * self.factor**exponent, self.most)
        return pause * random.uniform(0.8, 1.2)  # noqa: S311 - only spreads out connection attempts


class DriveClient:
    """Connects a program to a server, and exposes the program's paths there.

    URLs with `ws://` and `wss://` use a WebSocket; URLs with `http://` and `https://` use the HTTP loop, in
    which the client polls for messages. The client is connected inside an `async with` block, or while `run`
    is running. If the connection breaks, the client connects again and registers all exposed paths. If the
    server refuses the program, the client stops.
    """

    def __init__(
        self,
        url: str,
        *,
        id: str,  # noqa: A002 - the protocol's name
        name: str,
        description: str | None = None,
        version: str | None = None,
        metadata: Mapping[str, Json] | None = None,
        token: str | None = None,
        auth: Auth | None = None,
        backoff: Backoff | None = None,
        error_messages: bool = False,
    ) -> None:
        """Create a client. `token` is the server's token; `auth` is passed to the server's hooks.

        If a resolver raises an exception, readers get the exception's type. With `error_messages`, they also
        get its message, which may contain secrets.

        Raises `InvalidValueError` if `url` or `id` is invalid, or if the data about the program cannot be
        sent as JSON.
        """
        self._address = ServerAddress.parse(url)
        self._about: dict[str, Json] = {
            "id": checked_id(id),
            "name": name,
            **without_none(
                description=description,
                version=version,
                platform="python",
                metadata=None if metadata is None else dict(metadata),
            ),
        }
        _require_json("program", self._about)
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self._auth = auth
        self._backoff = backoff or Backoff()
        self._exposed_paths = ExposedPaths(error_messages=error_messages)
        self._connected = anyio.Event()
        self._ended = anyio.Event()
        self._lost = self._was_connected = False
        """Whether the last attempt or connection failed, and whether there was ever a connection."""
        self._failure: RefusedByServerError | None = None
        self._running: AsyncExitStack | None = None

    # Exposed paths

    @overload
    def expose(self, path: str, content: str, /, *, description: str | None = None) -> None: ...
    @overload
    def expose(self, path: str, options: Options, resolver: Resolver, /) -> None: ...
    @overload
    def expose(
        self,
        path: str,
        /,
        *,
        method: str | None = None,
        description: str | None = None,
        content_type: str | None = None,
        input_schema: Mapping[str, Json] | None = None,
        output_schema: Mapping[str, Json] | None = None,
    ) -> Callable[[_R], _R]: ...
    def expose(
        self,
        path: str,
        content: str | Options | None = None,
        resolver: Resolver | None = None,
        /,
        *,
        method: str | None = None,
        description: str | None = None,
        content_type: str | None = None,
        input_schema: Mapping[str, Json] | None = None,
        output_schema: Mapping[str, Json] | None = None,
    ) -> Callable[[_R], _R] | None:
        """Expose `path` from now on: with a text, with a resolver, or as a decorator for a resolver.

        A path that ends in `/skill.md` or `/SKILL.md` is a skill. A path that ends in `/prompt.md` or
        `/PROMPT.md` is a prompt. Any other path is an endpoint, which needs a `method` and a resolver. If the
        path is already exposed (for an endpoint, with the same method), it is replaced; if that discards a
        resolver, a warning is logged. Raises `InvalidValueError` if the path, an option or the resolver is
        invalid, and `UsageError` if the positional arguments are incomplete or have wrong types.
        """
        options = Options(description, content_type, method, input_schema, output_schema)
        if isinstance(content, str) and resolver is not None:
            hint = "pass `Options(…)` instead of the text, or omit the function"
            raise UsageError(f"`expose({path!r}, …)` has both a text and a function", hint=hint)
        if isinstance(content, Options) and options != Options():
            hint = "write every option into `Options(…)`"
            raise UsageError(f"`expose({path!r}, …)` has options outside its `Options(…)`", hint=hint)
        if isinstance(content, str):
            self._exposed_paths.put_text(path, content, options)
            return None
        if isinstance(content, Options):
            if resolver is None:
                hint = "pass a function as the third argument, or use `@client.expose(path, description=…)`"
                raise UsageError(f"`expose({path!r}, options)` has no resolver", hint=hint)
            self._exposed_paths.put(path, content, resolver)
            return None
        if content is not None:  # without this check, a resolver passed here would be ignored
            hint = "pass text, or `Options(…)` and a function, or use `@client.expose(path, description=…)`"
            raise UsageError(f"`expose({path!r}, …)` cannot use a {type(content).__name__}", hint=hint)

        def decorate(function: _R) -> _R:
            self._exposed_paths.put(path, options, function)
            return function

        return decorate

    def unexpose(self, path: str, method: str | None = None) -> None:
        """Stop exposing `path`. For an endpoint, stop exposing only `method`, which is `GET` by default.

        Raises `InvalidValueError` if the path is not exposed with this method.
        """
        self._exposed_paths.remove(path, method)

    @property
    def exposed(self) -> list[Json]:
        """The descriptors of the exposed paths, as sent to the server."""
        return self._exposed_paths.descriptors()

    # Connection

    async def __aenter__(self) -> Self:
        """Connect, and return when the server has processed the registration.

        Raises `RefusedByServerError` if the server refuses the program.
        """
        stack = AsyncExitStack()
        tasks = await stack.enter_async_context(anyio.create_task_group())
        self._running = stack
        self._failure, self._ended, self._connected = None, anyio.Event(), anyio.Event()
        tasks.start_soon(self._stay_connected)
        stack.callback(tasks.cancel_scope.cancel)
        try:
            await self.until_connected()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if (stack := self._running) is not None:
            self._running = None
            await stack.aclose()

    async def run(self) -> None:
        """Connect and stay connected until cancelled.

        Raises `RefusedByServerError` if the server refuses the program.
        """
        async with self:
            await self.until_ended()

    def run_forever(self) -> None:
        """Run the client in a new event loop, and return after Ctrl-C. Call this outside of async code.

        A program that handles `KeyboardInterrupt` itself uses `run`. Raises `RefusedByServerError` if the
        server refuses the program.
        """
        with suppress(KeyboardInterrupt):
            anyio.run(self.run)

    async def until_connected(self) -> None:
        """Wait until the server has processed the registration.

        Raises `RefusedByServerError` if the server refuses the program.
        """
        while not self._connected.is_set():
            if self._failure is not None:
                raise self._failure
            await self._connected.wait()
        if self._failure is not None:
            raise self._failure

    async def until_ended(self) -> None:
        """Wait until the server refuses this program, then raise `RefusedByServerError`."""
        await self._ended.wait()
        if self._failure is not None:
            raise self._failure

    async def _stay_connected(self) -> None:
        attempt = 0
        while True:
            try:
                async with open_transport(self._address, self._headers) as transport:
                    await ClientConnection(
                        transport,
                        self._exposed_paths,
                        str(self._about["id"]),
                        self._registration,
                        self._report_connected,
                    ).run()
            except ConnectionLostError as error:
                attempt += 1
                if self._connected.is_set():
                    attempt, self._connected = 1, anyio.Event()
                self._lost = True
                pause = self._backoff.seconds(attempt)
                _log.warning("not connected: %s; the next attempt is in %.1f s", error, pause)
                await anyio.sleep(pause)
            except RefusedByServerError as error:
                self._failure = self._readable(error)
                _log.error("stopped: %s", self._failure)
                self._connected.set()
                self._ended.set()
                return

    def _report_connected(self) -> None:
        self._connected.set()
        if self._lost:
            self._lost = False
            # As visible as the warning that there was no connection.
            again = " again" if self._was_connected else ""
            _log.warning("connected to %s%s", quoted(self._address.url), again)
        self._was_connected = True

    def _readable(self, error: RefusedByServerError) -> RefusedByServerError:
        """Return the error with the id of this program, if another program has registered with the id."""
        if not isinstance(error, ReplacedError):
            return error
        client_id = quoted(str(self._about["id"]))
        return ReplacedError(f"another program has registered with the id {client_id}, and replaces this one")

    def _registration(self) -> dict[str, Json]:
        client: dict[str, Json] = {**self._about, "paths": self._exposed_paths.descriptors()}
        auth = None if self._auth is None else self._auth.to_json()
        return {"type": "registerClient", "client": client, **without_none(auth=auth)}


def _require_json(what: str, value: dict[str, Json]) -> None:
    try:
        orjson.dumps(value)
    except TypeError as error:
        raise InvalidValueError(what, ascii(value), f"JSON: {error}") from error
