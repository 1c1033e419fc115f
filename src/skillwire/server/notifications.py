"""Notify clients of changes, as each client's protocol version requires."""

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
"""Seconds between two rounds of notifications. Events in between are sent together."""
MAX_ALL_SUBSCRIPTION_BYTES = 64 * 1024 * 1024
"""Maximum memory for the subscriptions of all clients together, in bytes."""
_PER_SUBSCRIPTION = 300
"""Memory that a subscription takes besides its URI, in bytes."""


@dataclass(slots=True, eq=False)
class Session:
    """A client with a session, its subscriptions, and the notifications not yet sent to it."""

    connection: Connection
    uris: set[str] = field(default_factory=set[str])
    uri_bytes: int = 0
    """Total length of the subscribed URIs."""
    _pending_events: dict[ServerEvent, None] = field(default_factory=dict[ServerEvent, None])
    _is_sending: bool = False

    def add(self, uri: str) -> None:
        """Add a subscription."""
        self.uris.add(uri)
        self.uri_bytes += len(uri)

    def remove(self, uri: str) -> None:
        """Remove a subscription."""
        self.uris.remove(uri)
        self.uri_bytes -= len(uri)

    def notify(self, lists: Iterable[ServerEvent], uris: AbstractSet[str], tasks: TaskGroup) -> None:
        """Send the client, in a separate task, all events in `lists` and those `uris` to which it subscribes.

        A client that does not read its notifications delays no other client.
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
    """Return whether the server can send notifications to this client outside of its requests."""
    # The SDK keeps no list of its sessions, and has no public API to get from a request to its connection.
    connection = context.session._connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return connection.has_standalone_channel


class Sessions:
    """The clients of protocol versions before 2026-07-28 to which the server can send notifications."""

    def __init__(self, on_left: Callable[[Collection[str]], None]) -> None:
        """Start without sessions. When a client disconnects, `on_left` is called with its subscriptions."""
        self._on_left = on_left
        self._sessions: dict[int, Session] = {}

    def of(self, context: Context) -> Session | None:
        """Return the session of the client that sent a request. Creates it at the first request.

        Return None for protocol 2026-07-28, and for a client to which the server cannot send notifications.
        """
        # The SDK keeps no list of its sessions, and has no public API to get from a request to its
        # connection.
        connection = context.session._connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS or not connection.has_standalone_channel:
            return None
        key = id(connection)
        if key not in self._sessions:
            self._sessions[key] = Session(connection)
            connection.exit_stack.callback(self._forget, key)
        return self._sessions[key]

    def notify(self, events: Iterable[ServerEvent], tasks: TaskGroup) -> None:
        """Send every client all list events, and the updates of resources to which it subscribes."""
        events = list(events)
        lists = [each for each in events if not isinstance(each, ResourceUpdated)]
        uris = {each.uri for each in events if isinstance(each, ResourceUpdated)}
        for session in self._sessions.values():
            session.notify(lists, uris, tasks)

    def _forget(self, key: int) -> None:
        if (session := self._sessions.pop(key, None)) is not None:
            self._on_left(session.uris)


class ChangeNotifier:
    """Manages the subscriptions of all clients, and notifies the clients of changes to a library."""

    def __init__(
        self, library: Library, features: Sequence[Feature], bus: SubscriptionBus | None = None
    ) -> None:
        """Notify clients of changes to `library`.

        `bus` carries the events of protocol 2026-07-28. If the server has its own bus, pass it.
        """
        self._library = library
        self._features = features
        self._schemes = {scheme for feature in features for scheme in feature.schemes()}
        self._uri_base = next((each.uri_base for each in features if each.uri_base is not None), None)
        self._sessions = Sessions(on_left=self._on_left)
        self._bus = bus or InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._subscription_bytes = 0
        """Memory that all subscriptions take together."""
        self._pending_events: set[ServerEvent] = set()
        self._has_events = anyio.Event()
        self._run_lock = anyio.Lock()
        self.stop_listening = library.listen(self._queue_events)
        """Function that makes the notifier ignore all later changes of the library."""

    @property
    def library(self) -> Library:
        """The library whose changes are reported."""
        return self._library

    @property
    def lists(self) -> set[ListKind]:
        """The lists for which clients get `list_changed` notifications. Empty while the library is frozen."""
        if self._library.frozen:
            return set()
        return {kind for feature in self._features for kind in feature.lists()}

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Follow the library and notify clients while the block runs. Loads the library first if needed.

        If several blocks run at once, only one of them does the work. The end of a block ends all open
        `subscriptions/listen` streams.
        """
        await self._library.ensure_loaded()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.run)
            yield
            self.close()
            tasks.cancel_scope.cancel()

    def close(self) -> None:
        """End all open `subscriptions/listen` streams."""
        self._listen.close()

    async def listen(
        self,
        context: Context,
        params: types.SubscriptionsListenRequestParams,
        stream: Listen | None = None,
    ) -> types.SubscriptionsListenResult:
        """Answer `subscriptions/listen` (protocol 2026-07-28) with a stream that stays open.

        `stream` is the server's own handler for the stream, if it has one on the same bus. Raises `MCPError`
        if a limit on subscriptions is exceeded.
        """
        requested = params.notifications.resource_subscriptions or []
        try:
            check_subscriptions(requested)
        except BadParamsError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        # If nothing can ever be served at a URI, its subscription is neither acknowledged nor stored.
        ours = list(dict.fromkeys(uri for uri in requested if self._may_serve(uri)))
        if stream is None and len(ours) < len(requested):
            subset = params.notifications.model_copy(update={"resource_subscriptions": ours})
            params = params.model_copy(update={"notifications": subset})
        size = self._count_subscriptions(ours if stream is None else requested)
        self._library.subscribe(self._inner(ours))
        try:
            return await (stream or self._listen)(context, params)
        finally:
            self._library.unsubscribe(self._inner(ours))
            self._subscription_bytes -= size

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Answer `resources/subscribe` (protocol versions before 2026-07-28).

        A client without a session gets a response, but no notifications. Raises `MCPError` if nothing is
        served at the URI, or if a limit on subscriptions is exceeded.
        """
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
                limit = f"{MAX_SUBSCRIPTIONS:,} resources, with URIs of {size} in total"
                raise MCPError(types.INVALID_PARAMS, f"a client may subscribe to at most {limit}")
            self._count_subscriptions([uri])
            session.add(uri)
            self._library.subscribe(self._inner([uri]))
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Answer `resources/unsubscribe`. A URI without a subscription is not an error."""
        session, uri = self._sessions.of(context), str(params.uri)
        if session is not None and uri in session.uris:
            session.remove(uri)
            self._on_left([uri])
        return types.EmptyResult()

    def serves(self, uri: str) -> bool:
        """Return whether something can be read at `uri`."""
        return any(feature.serves(uri) for feature in self._features)

    def register_client(self, context: Context) -> None:
        """Register the client of a request, so that it gets notifications about lists."""
        self._sessions.of(context)

    def _may_serve(self, uri: str) -> bool:
        """Return whether something can be served at `uri`, now or later, judged by its scheme."""
        if self._uri_base is not None and self._uri_base.to_inner(uri) is None:
            return False
        return uri.partition("://")[0] in self._schemes

    def _inner(self, uris: Collection[str]) -> Collection[str]:
        """Return the URIs that clients use in the form that the library uses."""
        if (base := self._uri_base) is None:
            return uris
        return [uri if (inner := base.to_inner(uri)) is None else inner for uri in uris]

    def _subscribed(self, uris: Collection[str]) -> AbstractSet[str]:
        """Return the URIs in `uris` to which at least one client subscribes."""
        if (base := self._uri_base) is None:
            return self._library.subscribed_uris & uris
        return {uri for uri in uris if base.to_inner(uri) in self._library.subscribed_uris}

    def _count_subscriptions(self, uris: Collection[str]) -> int:
        """Count subscriptions towards the common limit, and return their size.

        Raises `MCPError` if all clients together have too many subscriptions.
        """
        size = _size(uris)
        if self._subscription_bytes + size > MAX_ALL_SUBSCRIPTION_BYTES:
            limit = f"{MAX_ALL_SUBSCRIPTION_BYTES:,} bytes"
            raise MCPError(
                types.INTERNAL_ERROR,
                f"the subscriptions of all clients of this server have reached the limit of {limit}; "
                "subscribe to fewer resources, or try again later",
            )
        self._subscription_bytes += size
        return size

    def _on_left(self, uris: Collection[str]) -> None:
        """Remove subscriptions from the library, and from the count for the common limit."""
        self._library.unsubscribe(self._inner(uris))
        self._subscription_bytes -= _size(uris)

    def _queue_events(self, change: Change) -> None:
        """Queue the events for a change of the library."""
        lists = self.lists
        for feature in self._features:
            self._pending_events |= {
                _LIST_EVENTS[kind] for kind in feature.lists_changed(change) if kind in lists
            }
            self._pending_events |= {
                ResourceUpdated(uri) for uri in self._subscribed(feature.updated_uris(change))
            }
        if self._pending_events:
            self._has_events.set()

    def note(self, lists: Iterable[ListKind], uris: Iterable[str]) -> None:
        """Queue notifications about these lists and URIs, for a change outside the library."""
        self._pending_events |= {_LIST_EVENTS[kind] for kind in lists if kind in self.lists}
        self._pending_events |= {ResourceUpdated(uri) for uri in self._subscribed(set(uris))}
        if self._pending_events:
            self._has_events.set()

    async def run(self) -> None:
        """Follow the library and notify clients, until cancelled.

        Of several concurrent calls, one does the work, and the others wait until it is cancelled.
        """
        async with self._run_lock, anyio.create_task_group() as tasks:
            self._has_events = (
                anyio.Event()
            )  # an event belongs to one event loop, and a server may run more than once
            if self._pending_events:
                self._has_events.set()
            tasks.start_soon(self._library.follow)
            while True:
                await self._has_events.wait()
                self._has_events = anyio.Event()
                events, self._pending_events = sorted(self._pending_events, key=_lists_first), set()
                self._sessions.notify(events, tasks)
                for event in events:
                    await self._bus.publish(event)
                await anyio.sleep(_PAUSE)


def _size(uris: Collection[str]) -> int:
    return sum(map(len, uris)) + _PER_SUBSCRIPTION * len(uris)


def _lists_first(event: ServerEvent) -> tuple[bool, str]:
    return isinstance(event, ResourceUpdated), event.uri if isinstance(event, ResourceUpdated) else ""
