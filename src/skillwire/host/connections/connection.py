"""One open connection, the task that owns it, and the listener for its change notifications."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import anyio
import mcp_types as types
from anyio.abc import TaskStatus
from mcp import Client
from mcp.client.session import MessageHandlerFnT
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from skillwire.errors import UnavailableError
from skillwire.host.connections.connect import reason
from skillwire.protocol.remote import SkillClaim
from skillwire.safe_text import quoted

_MIN_PAUSE, _MAX_PAUSE = 1.0, 60.0
"""Seconds before a stream is asked for again that ended."""
_MAX_URIS = 2_000
"""Resources that are subscribed to. Whoever lists more skills is asked from time to time."""
_MAX_SUBSCRIPTIONS = 200
"""The same for servers that have to be asked once for each."""
_TIMEOUT = 30.0
"""Seconds until a server that does not introduce itself is given up."""
_CLOSE_TIMEOUT = 5.0
"""Seconds to take leave of a server in peace."""


class Listener:
    """Listens on one connection, once somebody wants to hear. `on_change` is called for whatever is heard."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._wanted = anyio.Event()
        self._uris: tuple[str, ...] = ()
        self._others = anyio.Event()
        self._modern = False

    def begin(self) -> None:
        """Listen from now on."""
        self._wanted.set()

    def attend(self, skills: Iterable[SkillClaim]) -> None:
        """Hear of what is in these skills, too: a server tells of lists by itself, of contents when asked.

        The folder of a skill stands for all its files where a server knows that, `SKILL.md` elsewhere.
        """
        uris = tuple(sorted({uri for skill in skills for uri in (skill.root, skill.uri)}))[:_MAX_URIS]
        if uris != self._uris:
            self._uris = uris
            self._others.set()

    async def handle_message(self, message: object) -> None:
        """Take what a server of the 2025 versions says. (On 2026-07-28 the same comes by the stream.)"""
        told = (types.ResourceListChangedNotification, types.ResourceUpdatedNotification)
        if isinstance(message, told) and not self._modern:
            self._on_change()

    async def run(self, client: Client) -> None:
        """Listen until cancelled. A server that cannot tell is no error: whoever wants to know can ask."""
        self._modern = client.session.protocol_version in MODERN_PROTOCOL_VERSIONS
        await self._wanted.wait()
        if self._modern:
            await self._follow_streams(client)
        else:
            self._on_change()  # what was said before somebody listened, nobody heard
            await self._subscribe(client)

    async def _follow_streams(self, client: Client) -> None:
        """Keep one stream open, for the skills that there are. The new one stands before the old one goes."""
        async with anyio.create_task_group() as tasks:
            before: anyio.CancelScope | None = None
            while True:
                self._others = anyio.Event()
                scope: anyio.CancelScope = await tasks.start(self._stream, client, before is None)
                if before is not None:
                    before.cancel()
                before = scope
                await self._others.wait()

    async def _stream(
        self,
        client: Client,
        first: bool,  # noqa: FBT001 - tasks are given what they get by position
        *,
        task_status: TaskStatus[anyio.CancelScope],
    ) -> None:
        """Hear one stream, and another when it ends. Between two of them, anything may have happened."""
        pause, started = _MIN_PAUSE, False
        with anyio.CancelScope() as scope:
            while True:
                try:
                    async with client.listen(
                        resources_list_changed=True, resource_subscriptions=self._uris
                    ) as events:
                        pause = _MIN_PAUSE
                        if started or first:
                            self._on_change()
                        if not started:
                            started = True
                            task_status.started(scope)
                        async for _event in events:
                            self._on_change()
                except (MCPError, SubscriptionLost, TimeoutError):
                    pause = min(2 * pause, _MAX_PAUSE)
                if not started:  # it may not know of such streams; the others go on without it
                    started = True
                    task_status.started(scope)
                await anyio.sleep(pause)

    async def _subscribe(self, client: Client) -> None:
        """Subscribe to each resource, and no more to those that are gone."""
        resources = client.server_capabilities.resources
        if resources is None or resources.subscribe is not True:
            return
        subscribed: set[str] = set()
        while True:
            self._others = anyio.Event()
            wanted = set(self._uris[:_MAX_SUBSCRIPTIONS])
            for uri in sorted(subscribed - wanted):
                await _ask(client, types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri)))
            for uri in sorted(wanted - subscribed):
                await _ask(client, types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)))
            subscribed = wanted
            await self._others.wait()


async def _ask(client: Client, request: Any) -> None:
    with contextlib.suppress(MCPError):  # not everything can be subscribed to, and not everywhere
        await client.session.send_request(request, types.EmptyResult)


class Connect(Protocol):
    """How a connection is made."""

    def __call__(
        self, *, on_message: MessageHandlerFnT, on_end: Callable[[str], None]
    ) -> AbstractAsyncContextManager[Client]:
        """Return a connection. Entering raises `UnavailableError`."""
        ...


class Connection:
    """A connection that is being made, stands, or is over. It is never made again."""

    def __init__(self, label: str, connect: Connect, on_change: Callable[[], None]) -> None:
        """`on_change` is called for whatever the server says of changes, and when the connection is over."""
        self._label, self._connect, self._on_change = label, connect, on_change
        self.listener = Listener(on_change)
        self.closed = False
        self.was_connected = False
        """Whether the server ever answered."""
        self.overload = ""
        """What the server sent too much of, if that is why it is over."""
        self._client: Client | None = None
        self._failure: UnavailableError | None = None
        self._opened, self._ended = anyio.Event(), anyio.Event()
        self._scope = anyio.CancelScope()
        # Not of whoever asks first: a connection outlives that one, and must be left where it was entered.
        self._task = asyncio.create_task(self._run())

    @property
    def is_finished(self) -> bool:
        """Whether nothing of it is left."""
        return self._task.done()

    async def client(self) -> Client:
        """Return the client as soon as the connection stands. Raises `UnavailableError`."""
        with anyio.move_on_after(_TIMEOUT):
            await self._opened.wait()
        if self._client is None:
            self.drop()
            told = f"{quoted(self._label)} does not answer: it did not introduce itself in {_TIMEOUT:g} s"
            raise self._failure or UnavailableError("", told)
        return self._client

    def drop(self) -> None:
        """End it at once, without a word."""
        self.closed = True
        self._scope.cancel()

    async def close(self) -> None:
        """Take leave of the server, and wait for the end of its process."""
        self._end()
        if self.was_connected and not self.overload:
            await asyncio.wait([self._task], timeout=_CLOSE_TIMEOUT)
        self._scope.cancel()
        await asyncio.wait([self._task])

    def _end(self, overload: str = "") -> None:
        self.closed = True
        self.overload = self.overload or overload
        self._ended.set()

    async def _run(self) -> None:
        try:
            with self._scope:
                await self._run_client()
        except UnavailableError as error:
            self._failure = error
        except Exception as error:  # noqa: BLE001 - whatever the transport died of: whoever waits is told
            self._failure = UnavailableError("", f"{quoted(self._label)} was lost: {reason(error)}")
        finally:
            self._failure = self._failure or UnavailableError("", f"{quoted(self._label)} was lost")
            self.closed, self._client = True, None
            self._opened.set()
            self._on_change()

    async def _run_client(self) -> None:
        async with (
            self._connect(on_message=self.listener.handle_message, on_end=self._end) as client,
            anyio.create_task_group() as tasks,
        ):
            self._client, self.was_connected = client, True
            self._opened.set()
            tasks.start_soon(self.listener.run, client)
            await self._ended.wait()
            tasks.cancel_scope.cancel()
