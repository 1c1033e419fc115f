"""Clients of the 2025 versions that are connected now: each is told on its own channel."""

from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from anyio.abc import TaskGroup
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context: TypeAlias = ServerRequestContext[Any, Any]


@dataclass(slots=True, eq=False)
class Session:
    """One client, what it subscribed to, and what it has not been told yet."""

    connection: Connection
    uris: set[str] = field(default_factory=set[str])
    uri_bytes: int = 0
    """Characters of these URIs together."""
    _news: dict[ServerEvent, None] = field(default_factory=dict[ServerEvent, None])
    _telling: bool = False

    def add(self, uri: str) -> None:
        """Note a subscription."""
        self.uris.add(uri)
        self.uri_bytes += len(uri)

    def remove(self, uri: str) -> None:
        """Forget a subscription."""
        self.uris.remove(uri)
        self.uri_bytes -= len(uri)

    def tell(self, lists: Iterable[ServerEvent], uris: AbstractSet[str], tasks: TaskGroup) -> None:
        """Have the client told which lists and resources changed, as far as that concerns it.

        Costs as much as it has to be told. One that does not listen holds up nobody else.
        """
        self._news.update(dict.fromkeys(lists))
        self._news.update((ResourceUpdated(uri), None) for uri in sorted(self.uris & uris))
        if self._news and not self._telling:
            self._telling = True
            tasks.start_soon(self._tell)

    async def _tell(self) -> None:
        try:
            while self._news:
                event = next(iter(self._news))
                del self._news[event]
                await self._send(event)
        finally:
            self._telling = False

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


def reaches(context: Context) -> bool:
    """Whether a client of the 2025 versions can be told what it did not ask for: only if it has a session."""
    # The SDK keeps no list of its sessions, and has no public way from a request to its connection.
    connection = context.session._connection  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return connection.has_standalone_channel


class Sessions:
    """Every client that can be told something without having asked for it in this very moment."""

    def __init__(self, left: Callable[[Collection[str]], None]) -> None:
        """`left` is called with the subscriptions of a client that is gone."""
        self._left = left
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

    def tell(self, events: Iterable[ServerEvent], tasks: TaskGroup) -> None:
        """Have every client told what concerns it."""
        news = list(events)
        lists = [each for each in news if not isinstance(each, ResourceUpdated)]
        uris = {each.uri for each in news if isinstance(each, ResourceUpdated)}
        for session in self._sessions.values():
            session.tell(lists, uris, tasks)

    def _forget(self, key: int) -> None:
        if (session := self._sessions.pop(key, None)) is not None:
            self._left(session.uris)
