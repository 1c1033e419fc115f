"""Notify clients of changes, each in the way of its protocol version."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    SubscriptionBus,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from skillwire.errors import BadParamsError
from skillwire.features.base import Feature, ListKind
from skillwire.library.change import Change
from skillwire.library.library import Library
from skillwire.protocol.bounds import (
    MAX_SUBSCRIPTION_BYTES,
    MAX_SUBSCRIPTIONS,
    check_subscriptions,
    check_text,
)
from skillwire.safe_text import quoted

Context: TypeAlias = ServerRequestContext[Any, Any]
_LIST_EVENTS: dict[ListKind, ServerEvent] = {
    ListKind.TOOLS: ToolsListChanged(),
    ListKind.PROMPTS: PromptsListChanged(),
    ListKind.RESOURCES: ResourcesListChanged(),
}
SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
Listen: TypeAlias = Callable[[Context, types.SubscriptionsListenRequestParams], Awaitable[Any]]
_PAUSE = 0.1
"""Seconds between two rounds of news: what comes in between is told together."""
MAX_ALL_SUBSCRIPTION_BYTES = 64 * 1024 * 1024
"""Bytes that the subscriptions of all clients may take together."""
_PER_SUBSCRIPTION = 300
"""Bytes that a subscription takes besides its URI."""


@dataclass(slots=True, eq=False)
class Session:
    """One client, what it subscribed to, and what it has not been told yet."""

    connection: Connection
    uris: set[str] = field(default_factory=set[str])
    uri_bytes: int = 0
    """Characters of these URIs together."""
    _pending_events: dict[ServerEvent, None] = field(default_factory=dict[ServerEvent, None])
    _is_sending: bool = False

    def add(self, uri: str) -> None:
        """Note a subscription."""
        self.uris.add(uri)
        self.uri_bytes += len(uri)

    def remove(self, uri: str) -> None:
        """Forget a subscription."""
        self.uris.remove(uri)
        self.uri_bytes -= len(uri)

    def notify(self, lists: Iterable[ServerEvent], uris: AbstractSet[str], tasks: TaskGroup) -> None:
        """Have the client told which lists and resources changed, as far as that concerns it.

        Costs as much as it has to be told. One that does not listen holds up nobody else.
        """
        self._pending_events.update(dict.fromkeys(lists))
        self._pending_events.update((ResourceUpdated(uri), None) for uri in sorted(self.uris & uris))
        if self._pending_events and not self._is_sending:
            self._is_sending = True
            tasks.start_soon(self._send_pending)

    async def _send_pending(self) -> None:
        try:
            while self._pending_events:
                event = next(iter(self._pending_events))
                del self._pending_events[event]
                await self._send(event)
        finally:
            self._is_sending = False

    async def _send(self, event: ServerEvent) -> None:
        match event:
            case ToolsListChanged():
                await self.connection.send_tool_list_changed()
            case PromptsListChanged():
                await self.connection.send_prompt_list_changed()
            case ResourcesListChanged():
                await self.connection.send_resource_list_changed()
            case ResourceUpdated(uri):
                await self.connection.send_resource_updated(uri)


def can_notify(context: Context) -> bool:
    """Whether a client of the 2025 versions can be told what it did not ask for: only if it has a session."""
    # The SDK keeps no list of its sessions, and has no public way from a request to its connection.
    connection = context.session._connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return connection.has_standalone_channel


class Sessions:
    """Every client that can be told something without having asked for it in this very moment."""

    def __init__(self, on_left: Callable[[Collection[str]], None]) -> None:
        """`on_left` is called with the subscriptions of a client that is gone."""
        self._on_left = on_left
        self._sessions: dict[int, Session] = {}

    def of(self, context: Context) -> Session | None:
        """Return the session of a request; None for a client of a version that has no sessions."""
        # The SDK keeps no list of its sessions, and has no public way from a request to its connection.
        connection = context.session._connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS or not connection.has_standalone_channel:
            return None
        key = id(connection)
        if key not in self._sessions:
            self._sessions[key] = Session(connection)
            connection.exit_stack.callback(self._forget, key)
        return self._sessions[key]

    def notify(self, events: Iterable[ServerEvent], tasks: TaskGroup) -> None:
        """Have every client told what concerns it."""
        news = list(events)
        lists = [each for each in news if not isinstance(each, ResourceUpdated)]
        uris = {each.uri for each in news if isinstance(each, ResourceUpdated)}
        for session in self._sessions.values():
            session.notify(lists, uris, tasks)

    def _forget(self, key: int) -> None:
        if (session := self._sessions.pop(key, None)) is not None:
            self._on_left(session.uris)


class ChangeNotifier:
    """Knows who wants to hear what, and tells of the changes of a library."""

    def __init__(
        self, library: Library, features: Sequence[Feature], bus: SubscriptionBus | None = None
    ) -> None:
        """`bus` carries what is told on protocol 2026-07-28, where a server has one already."""
        self._library = library
        self._features = features
        self._schemes = {scheme for feature in features for scheme in feature.schemes()}
        self._sessions = Sessions(on_left=self._on_left)
        self._bus = bus or InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._subscription_bytes = 0
        """Bytes that all subscriptions take."""
        self._pending_events: set[ServerEvent] = set()
        self._has_events = anyio.Event()
        self._run_lock = anyio.Lock()
        self.stop_listening = library.listen(self._queue_events)
        """Ends it for good: it hears of no change any more."""

    @property
    def library(self) -> Library:
        """The library whose changes are told."""
        return self._library

    @property
    def lists(self) -> set[ListKind]:
        """The lists that clients are told of when they change."""
        if self._library.frozen:
            return set()
        return {kind for feature in self._features for kind in feature.lists()}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Follow the library and tell of its changes meanwhile. Of several at once, one works.

        A library that nobody loaded is loaded first.
        """
        await self._library.ensure_loaded()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.run)
            yield
            self.close()
            tasks.cancel_scope.cancel()

    def close(self) -> None:
        """End the streams of those who listen."""
        self._listen.close()

    async def listen(
        self,
        context: Context,
        params: types.SubscriptionsListenRequestParams,
        stream: Listen | None = None,
    ) -> types.SubscriptionsListenResult:
        """Answer `subscriptions/listen`, the way of protocol 2026-07-28: one stream that lasts.

        `stream` is who serves it, where a server has somebody for that on the same bus.
        """
        asked = params.notifications.resource_subscriptions or []
        try:
            check_subscriptions(asked)
        except BadParamsError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        # What nothing can ever be served at is not acknowledged, and not kept.
        ours = list(dict.fromkeys(uri for uri in asked if self._may_serve(uri)))
        if stream is None and len(ours) < len(asked):
            subset = params.notifications.model_copy(update={"resource_subscriptions": ours})
            params = params.model_copy(update={"notifications": subset})
        taken = self._count_subscriptions(ours if stream is None else asked)
        self._library.subscribe(ours)
        try:
            return await (stream or self._listen)(context, params)
        finally:
            self._library.unsubscribe(ours)
            self._subscription_bytes -= taken

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Answer `resources/subscribe`, the way of the versions before."""
        session, uri = self._sessions.of(context), str(params.uri)
        try:
            check_text("uri", uri)
        except BadParamsError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        if not self.serves(uri):
            raise MCPError(types.INVALID_PARAMS, f"nothing is served at {quoted(uri)}")
        if session is not None and uri not in session.uris:
            if (
                len(session.uris) >= MAX_SUBSCRIPTIONS
                or session.uri_bytes + len(uri) > MAX_SUBSCRIPTION_BYTES
            ):
                size = f"{MAX_SUBSCRIPTION_BYTES:,} bytes"
                limit = f"{MAX_SUBSCRIPTIONS:,} resources, whose URIs have {size} together"
                raise MCPError(types.INVALID_PARAMS, f"a client may subscribe to {limit}")
            self._count_subscriptions([uri])
            session.add(uri)
            self._library.subscribe([uri])
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Answer `resources/unsubscribe`. To end what was never begun is no mistake."""
        session, uri = self._sessions.of(context), str(params.uri)
        if session is not None and uri in session.uris:
            session.remove(uri)
            self._on_left([uri])
        return types.EmptyResult()

    def serves(self, uri: str) -> bool:
        """Whether something can be read at `uri`, so that its changes can be told."""
        return any(feature.serves(uri) for feature in self._features)

    def register_client(self, context: Context) -> None:
        """Note that a client is ready to be told."""
        self._sessions.of(context)

    def _may_serve(self, uri: str) -> bool:
        """Whether something can be served at `uri`, now or later: it has a scheme that is served at all."""
        return uri.partition("://")[0] in self._schemes

    def _count_subscriptions(self, uris: Collection[str]) -> int:
        """Count subscriptions, and return their size. Raises `MCPError` if all clients have too many."""
        size = _size(uris)
        if self._subscription_bytes + size > MAX_ALL_SUBSCRIPTION_BYTES:
            limit = f"{MAX_ALL_SUBSCRIPTION_BYTES:,} bytes"
            raise MCPError(
                types.INTERNAL_ERROR,
                f"the subscriptions of all clients of this server may take {limit} together, and that is "
                "reached; subscribe to less, or try again later",
            )
        self._subscription_bytes += size
        return size

    def _on_left(self, uris: Collection[str]) -> None:
        """Forget the subscriptions of a session."""
        self._library.unsubscribe(uris)
        self._subscription_bytes -= _size(uris)

    def _queue_events(self, change: Change) -> None:
        """Remember what clients must hear of a change of the library."""
        lists = self.lists
        for feature in self._features:
            self._pending_events |= {
                _LIST_EVENTS[kind] for kind in feature.lists_changed(change) if kind in lists
            }
            self._pending_events |= {
                ResourceUpdated(uri) for uri in self._library.subscribed_uris & feature.updated_uris(change)
            }
        if self._pending_events:
            self._has_events.set()

    def note(self, lists: Iterable[ListKind], uris: Iterable[str]) -> None:
        """Have clients told of changes that are none of the library."""
        self._pending_events |= {_LIST_EVENTS[kind] for kind in lists if kind in self.lists}
        self._pending_events |= {ResourceUpdated(uri) for uri in uris if uri in self._library.subscribed_uris}
        if self._pending_events:
            self._has_events.set()

    async def run(self) -> None:
        """Follow the library and tell of its changes, until cancelled. Of several who do so, one works."""
        async with self._run_lock, anyio.create_task_group() as tasks:
            self._has_events = anyio.Event()  # of the loop that it runs in: a server may run twice
            if self._pending_events:
                self._has_events.set()
            tasks.start_soon(self._library.follow)
            while True:
                await self._has_events.wait()
                self._has_events = anyio.Event()
                news, self._pending_events = sorted(self._pending_events, key=_lists_first), set()
                self._sessions.notify(news, tasks)
                for event in news:
                    await self._bus.publish(event)
                await anyio.sleep(_PAUSE)


def _size(uris: Collection[str]) -> int:
    return sum(map(len, uris)) + _PER_SUBSCRIPTION * len(uris)


def _lists_first(event: ServerEvent) -> tuple[bool, str]:
    return isinstance(event, ResourceUpdated), event.uri if isinstance(event, ResourceUpdated) else ""
