"""A link to one server: connects on the first request, and again after the connection was lost."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Self, TypeAlias, TypeVar

import anyio
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, REQUEST_TIMEOUT

from skillwire.core.problem import Rule
from skillwire.core.record import Limits
from skillwire.errors import LoginRequiredError, UnavailableError, VerificationError
from skillwire.host.connections.connect import connected
from skillwire.host.connections.connection import Connect, Connection
from skillwire.host.connections.target import Target
from skillwire.host.connections.traffic import TrafficLimits
from skillwire.host.dialects.client import Listing, SkillsClient
from skillwire.host.dialects.drafts import DraftsClient, drafts_only
from skillwire.protocol.archive_rules import UnpackedFiles
from skillwire.protocol.claims import DeliveryClaim, SkillClaim
from skillwire.protocol.findings import server_problem
from skillwire.protocol.messages import EXTENSION, SKILLS_LIST
from skillwire.safe_text import quoted

_LOST = frozenset({CONNECTION_CLOSED, INVALID_REQUEST})
"""Error codes of a lost connection. A server that was restarted sends `INVALID_REQUEST`."""
_LOST_WORDS = re.compile(r"^Connection closed$|^SSE stream|session", re.IGNORECASE)
"""Messages of a lost connection.

The message is also checked, because many servers use the codes above for other errors, too.
"""
_TRIES = 2
_MIN_PAUSE, _MAX_PAUSE = 1.0, 60.0
"""Shortest and longest pause, in seconds, before contacting a server that was lost or sent too much."""
_LONGEST_LISTING = 300.0
"""Seconds in which all pages of a list must arrive, so that no server can send pages endlessly (H2)."""
_IDLE = 50
"""The minimum pause before the next poll, as a multiple of the time that the last listing took."""

Value = TypeVar("Value")
_Client: TypeAlias = SkillsClient | DraftsClient


class ServerLink:
    """Sends requests to one server, and reconnects as often as needed.

    Responses are not cached. A separate task owns each connection, so any caller can send requests or be
    cancelled at any time. Use the link as a context manager, or `close` it.
    """

    def __init__(
        self,
        target: Target,
        *,
        drafts: bool = False,
        limits: Limits | None = None,
        traffic: TrafficLimits | None = None,
        connect: Connect | None = None,
    ) -> None:
        """Create a link. With `drafts`, the server may use earlier drafts of the extension.

        If a server sends more than `traffic` allows, the link disconnects and contacts it again later.
        `connect` replaces the function that connects to the target.
        """
        self.target = target
        self._drafts = drafts
        self._limits, self._traffic = limits or Limits(), traffic or TrafficLimits()
        self._connect: Connect = connect or partial(connected, target, limits=self._traffic)
        self._connection: Connection | None = None
        self._closing: set[Connection] = set()
        self._connected_by: Client | None = None
        self._client: SkillsClient | None = None
        self._drafts_client: DraftsClient | None = None
        self._listing: asyncio.Task[Listing] | None = None
        self._listings: set[asyncio.Task[Listing]] = set()
        """The current listing, and older listings for which callers may still wait."""
        self._declared: Mapping[str, Any] | None = None
        self._closed = False
        self._penalty, self._not_before = 0.0, 0.0
        self._list_seconds = 0.0
        self._change_count = 0
        self._watchers: list[anyio.Event] = []

    @property
    def label(self) -> str:
        return self.target.label

    @property
    def place(self) -> str:
        return self.target.place

    @property
    def identity(self) -> str:
        return self.target.identity

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """The extension settings that the server last declared; None if it declared none (H1)."""
        return self._declared

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Cancel all listings, close all connections, and wait until both have ended."""
        self._closed = True
        with anyio.CancelScope(shield=True):  # each wait is limited to a few seconds
            for listing in self._listings:
                listing.cancel()
            await asyncio.gather(*self._listings, return_exceptions=True)
            if self._connection is not None:
                self._closing.add(self._connection)
            await asyncio.gather(*(connection.close() for connection in self._closing))
            self._closing.clear()

    async def list(self) -> Listing:
        """Return the skills and templates that the server lists. Concurrent callers share one listing (H29).

        If `declared` is None, no method of the extension is called (H1). In this case, the listing is empty
        unless `drafts` is set. Raises `UnavailableError`, `VerificationError` or `MCPError`.
        """
        if self._listing is None or self._listing.done():
            self._listing = asyncio.create_task(self._list())
            self._listings.add(self._listing)
            self._listing.add_done_callback(self._forget)
        return await asyncio.shield(self._listing)

    async def get(self, uri: str) -> SkillClaim:
        """Return the skill at `uri`, listed or not (H3). Raises the same errors as `list`."""

        async def get(client: _Client) -> SkillClaim:
            if client.declared is None and isinstance(client, SkillsClient):
                message = f"the server does not declare the extension `{EXTENSION}`"
                raise VerificationError("", server_problem(SKILLS_LIST, Rule.LIST_SHAPE, message))
            return await client.get(uri)

        return await self._call(get)

    async def read(self, uri: str, size: int | None = None) -> bytes:
        """Return the bytes at `uri`. `size` is the listed size. Raises the same errors as `list`."""
        return await self._call(lambda client: client.read(uri, size))

    async def list_folder(self, uri: str) -> "list[str]":
        """Return the URIs of the direct children of a folder. Raises the same errors as `list`."""
        return await self._call(lambda client: client.list_folder(uri))

    async def complete(self, uri_template: str, parameter: str, typed: str) -> "list[str]":
        """Return the values that the server suggests for a parameter of a template. Raises as `list` does."""
        return await self._call(lambda client: client.complete(uri_template, parameter, typed))

    def refill(self) -> None:
        """Reset the number of bytes that may be read. Each listing does this, too (H25)."""
        if self._client is not None:
            self._client.refill()

    async def unpack(self, skill: SkillClaim, archive: DeliveryClaim) -> UnpackedFiles:
        """Return all files in an archive of a skill, verified. Raises as `list` does."""

        async def unpack(client: _Client) -> UnpackedFiles:
            return await drafts_only(client, archive).unpack(skill, archive)

        return await self._call(unpack)

    async def wait_for_changes(self, every: float | None = None) -> AsyncGenerator[None]:
        """Yield whenever skills may have changed: after a notification, a disconnect or a reconnect.

        While a caller iterates, the link stays connected. Notifications that arrive while the caller is busy
        are combined into one. With `every`, also yields after that many seconds, or later if a listing takes
        long.
        """
        known, away, pause = self._change_count, False, _MIN_PAUSE
        while not self._closed:
            connection: Connection | None = None
            try:
                connection = self._get_connection()
                await connection.client()
            except UnavailableError:
                if not away:
                    away = True
                    yield
            else:
                connection.listener.begin()
                if not away:
                    with anyio.move_on_after(
                        None if every is None else max(every, _IDLE * self._list_seconds)
                    ):
                        await self._wait_for_change(known)
                known, away = self._change_count, False
                yield
            if (
                connection is None or connection.closed
            ):  # also limits reconnects to a server that drops every connection
                await anyio.sleep(max(pause, self._not_before - time.monotonic()))
                pause = min(2 * pause, _MAX_PAUSE)
            else:
                pause = _MIN_PAUSE

    async def _wait_for_change(self, known: int) -> None:
        changed = anyio.Event()
        self._watchers.append(changed)
        try:
            if known == self._change_count:
                await changed.wait()
        finally:
            self._watchers.remove(changed)

    def _notify(self) -> None:
        self._change_count += 1
        self._listing = None  # a listing in progress may predate the change
        for watcher in self._watchers:
            watcher.set()

    def _forget(self, listing: asyncio.Task[Listing]) -> None:
        self._listings.discard(listing)
        if not listing.cancelled():
            listing.exception()  # mark it as retrieved, or asyncio would log it

    async def _list(self) -> Listing:

        async def list_all(client: _Client) -> Listing:
            if self._client is not None:
                self._client.refill()  # each listing has a new budget
            undeclared = client.declared is None and isinstance(client, SkillsClient)
            return Listing() if undeclared else await client.list()

        begin = time.monotonic()
        try:
            with anyio.fail_after(_LONGEST_LISTING):
                listing = await self._call(list_all)
        except TimeoutError as error:
            message = f"{quoted(self.label)} did not list its skills in {_LONGEST_LISTING:g} seconds"
            raise UnavailableError("", message) from error
        self._list_seconds = time.monotonic() - begin
        if self._connection is not None:
            self._connection.listener.attend(listing.skills)
        return listing

    async def _call(self, call: Callable[[_Client], Awaitable[Value]]) -> Value:
        """Send a request. If the connection is lost, reconnect and send the request once more.

        All requests only read, so it is safe to send one twice.
        """
        for _ in range(_TRIES):
            connection = self._get_connection()
            try:
                return await call(self._get_client(await connection.client()))
            except UnavailableError as error:
                if not connection.was_connected or isinstance(error, LoginRequiredError):
                    raise
            except MCPError as error:
                if error.code != REQUEST_TIMEOUT and not (connection.closed or _is_loss(error)):
                    raise
                if connection.overload:
                    raise UnavailableError(
                        "", f"{quoted(self.label)} was disconnected: {connection.overload}"
                    ) from error
                connection.drop()
                if error.code == REQUEST_TIMEOUT:  # the caller has waited long enough: do not try again
                    raise UnavailableError("", f"{quoted(self.label)} does not answer in time") from error
            except RuntimeError:  # raised by the SDK if the connection ended between two calls
                if not connection.closed:
                    raise
        raise UnavailableError("", f"the connection to {quoted(self.label)} was lost during a request")

    def _get_connection(self) -> Connection:
        """Return the current connection, or start a new connection.

        Raises `UnavailableError` after `close`, and during the pause after a server sent too much.
        """
        if self._closed:
            raise UnavailableError("", f"the link to {quoted(self.label)} is closed")
        if self._connection is None or self._connection.closed:
            if self._connection is not None:
                self._check_backoff(self._connection)
                self._closing.add(self._connection)
            self._closing = {each for each in self._closing if not each.is_finished}
            self._connection = Connection(self.label, self._connect, self._notify)
        return self._connection

    def _check_backoff(self, connection: Connection) -> None:
        """Raise `UnavailableError` during the pause after a server sent too much."""
        if not connection.overload:
            return
        now = time.monotonic()
        if connection not in self._closing:  # the first check of this connection
            self._closing.add(connection)
            calm = now - self._not_before > _MAX_PAUSE
            self._penalty = _MIN_PAUSE if calm else min(2 * self._penalty, _MAX_PAUSE)
            self._not_before = now + self._penalty
        if now < self._not_before:
            message = f"{quoted(self.label)} was disconnected: {connection.overload}"
            raise UnavailableError("", f"{message}; next attempt in {self._not_before - now:.0f} s")

    def _get_client(self, client: Client) -> _Client:
        """Return the client for a connection; with `drafts`, the same `DraftsClient` for every connection."""
        if self._client is None or self._connected_by is not client:
            self._connected_by = client
            self._client = SkillsClient(
                client, self._limits, legacy_flags=self._drafts, traffic=self._traffic
            )
            self._declared = self._client.declared
            if self._drafts_client is not None:
                self._drafts_client.client = self._client
        if not self._drafts:
            return self._client
        if self._drafts_client is None:
            self._drafts_client = DraftsClient(self._client)
        return self._drafts_client


def _is_loss(error: MCPError) -> bool:
    return error.code in _LOST and _LOST_WORDS.search(error.message) is not None
