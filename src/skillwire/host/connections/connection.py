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
from skillwire.protocol.claims import SkillClaim
from skillwire.safe_text import quoted

_MIN_PAUSE, _MAX_PAUSE = 1.0, 60.0
"""Shortest and longest pause before a notification stream that ended is reopened, in seconds."""
_MAX_URIS = 2_000
"""Maximum number of subscribed resources. Changes to other resources are found by polling."""
_MAX_SUBSCRIPTIONS = 200
"""Maximum number of subscribed resources for servers that need one request for each subscription."""
_TIMEOUT = 30.0
"""Seconds in which a server must answer the handshake."""
_CLOSE_TIMEOUT = 5.0
"""Maximum time to close a connection properly, in seconds."""


class Listener:
    """Receives change notifications on one connection after `begin`, and calls `on_change` for each."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._begun = anyio.Event()
        self._uris: tuple[str, ...] = ()
        self._uris_changed = anyio.Event()
        self._modern = False

    def begin(self) -> None:
        """Start to listen."""
        self._begun.set()

    def attend(self, skills: Iterable[SkillClaim]) -> None:
        """Subscribe to these skills only. Without subscriptions, servers report only changes to lists.

        Some servers report a change in a skill's folder for the folder's URI, and others only for the URI of
        `SKILL.md`. So this method subscribes to both.
        """
        uris = tuple(sorted({uri for skill in skills for uri in (skill.root, skill.uri)}))[:_MAX_URIS]
        if uris != self._uris:
            self._uris = uris
            self._uris_changed.set()

    async def handle_message(self, message: object) -> None:
        """Call `on_change` for a change notification in the 2025 protocol versions.

        In version 2026-07-28, a stream delivers the notifications instead.
        """
        kinds = (types.ResourceListChangedNotification, types.ResourceUpdatedNotification)
        if isinstance(message, kinds) and not self._modern:
            self._on_change()

    async def run(self, client: Client) -> None:
        """Listen after `begin`, until cancelled. Return early if the server has no streams or subscriptions.

        It is not an error if a server sends no notifications, because callers can poll.
        """
        self._modern = client.session.protocol_version in MODERN_PROTOCOL_VERSIONS
        await self._begun.wait()
        if self._modern:
            await self._follow_streams(client)
        else:
            self._on_change()  # changes before the subscriptions are not reported
            await self._subscribe(client)

    async def _follow_streams(self, client: Client) -> None:
        """Keep a notification stream open for the current skills.

        A new stream starts before the old stream is closed.
        """
        async with anyio.create_task_group() as tasks:
            before: anyio.CancelScope | None = None
            while True:
                self._uris_changed = anyio.Event()
                scope: anyio.CancelScope = await tasks.start(self._stream, client, before is None)
                if before is not None:
                    before.cancel()
                before = scope
                await self._uris_changed.wait()

    async def _stream(
        self,
        client: Client,
        first: bool,  # noqa: FBT001 - `TaskGroup.start` passes positional arguments only
        *,
        task_status: TaskStatus[anyio.CancelScope],
    ) -> None:
        """Follow a stream, and reopen it when it ends.

        Each reopening counts as a change, and so does the opening of the `first` stream.
        """
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
                if not started:  # the server may not support streams; do not block the caller
                    started = True
                    task_status.started(scope)
                await anyio.sleep(pause)

    async def _subscribe(self, client: Client) -> None:
        """Subscribe to each resource, and unsubscribe from removed resources, until cancelled.

        Returns at once if the server does not support subscriptions.
        """
        resources = client.server_capabilities.resources
        if resources is None or resources.subscribe is not True:
            return
        subscribed: set[str] = set()
        while True:
            self._uris_changed = anyio.Event()
            uris = set(self._uris[:_MAX_SUBSCRIPTIONS])
            for uri in sorted(subscribed - uris):
                await _ask(client, types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri)))
            for uri in sorted(uris - subscribed):
                await _ask(client, types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri)))
            subscribed = uris
            await self._uris_changed.wait()


async def _ask(client: Client, request: Any) -> None:
    with contextlib.suppress(MCPError):  # some resources and servers do not support subscriptions
        await client.session.send_request(request, types.EmptyResult)


class Connect(Protocol):
    """A function that opens a connection."""

    def __call__(
        self, *, on_message: MessageHandlerFnT, on_end: Callable[[str], None]
    ) -> AbstractAsyncContextManager[Client]:
        """Return the connection as a context manager. Entering it may raise `UnavailableError`."""
        ...


class Connection:
    """One connection and the task that owns it. Connecting starts at once.

    A closed connection is never reopened.
    """

    def __init__(self, label: str, connect: Connect, on_change: Callable[[], None]) -> None:
        """Start to connect. Calls `on_change` for each change notification and when the connection ends."""
        self._label, self._connect, self._on_change = label, connect, on_change
        self.listener = Listener(on_change)
        self.closed = False
        self.was_connected = False
        """Whether the server ever answered."""
        self.overload = ""
        """The limit that the server exceeded, if this ended the connection; otherwise empty."""
        self._client: Client | None = None
        self._failure: UnavailableError | None = None
        self._opened, self._ended = anyio.Event(), anyio.Event()
        self._scope = anyio.CancelScope()
        # A separate task, because a connection outlives its first caller, and the same task must open and
        # close it.
        self._task = asyncio.create_task(self._run())

    @property
    def is_finished(self) -> bool:
        """Whether the connection's task has ended."""
        return self._task.done()

    async def client(self) -> Client:
        """Wait until the connection is open, and return its client.

        If it does not open in time, or has ended, drops the connection and raises `UnavailableError`.
        """
        with anyio.move_on_after(_TIMEOUT):
            await self._opened.wait()
        if self._client is None:
            self.drop()
            message = f"{quoted(self._label)} does not answer: no handshake within {_TIMEOUT:g} s"
            raise self._failure or UnavailableError("", message)
        return self._client

    def drop(self) -> None:
        """End the connection at once, without closing it properly."""
        self.closed = True
        self._scope.cancel()

    async def close(self) -> None:
        """Close the connection, and wait until its task has ended.

        A connection that never opened, or whose server exceeded a limit, is ended at once.
        """
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
        except Exception as error:  # noqa: BLE001 - `client` raises it for its callers
            lost = f"the connection to {quoted(self._label)} was lost: {reason(error)}"
            self._failure = UnavailableError("", lost)
        finally:
            lost = f"the connection to {quoted(self._label)} was lost"
            self._failure = self._failure or UnavailableError("", lost)
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
