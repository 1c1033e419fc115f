"""The connected clients, their paths, and calls to them. Independent of the transports."""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeAlias
from uuid import uuid4

import anyio
import orjson

from skillwire.drive.errors import (
    DeniedError,
    FullError,
    HookFailedError,
    NoSuchPathError,
    ProtocolViolationError,
    UnauthenticatedError,
    UnsendableError,
)
from skillwire.drive.messages import (
    Answer,
    CallClient,
    CallResult,
    ClientMessage,
    Ping,
    Pong,
    RegisterClient,
    UnregisterClient,
    UpdateCatalog,
    ping,
    pong,
    read_client_message,
)
from skillwire.drive.paths import LivePath
from skillwire.drive.policy import DriveLimits, Hooks, Invocation, PathRequest
from skillwire.drive.registration import ClientInfo, Descriptor, PathTable, PathType
from skillwire.drive.session import NORMAL, REPLACED, Closing, Connection, Mode, OutboxBudget, Session
from skillwire.errors import InvalidValueError
from skillwire.safe_text import quoted

_log = logging.getLogger(__name__)
Listener: TypeAlias = Callable[[], None]
"""A function that is called after a client registers, unregisters, or changes its paths."""
PresenceListener: TypeAlias = Callable[[ClientInfo, bool], None]
"""A function that is called with a client that has registered (True) or unregistered (False)."""
CROWDED_OUT = Closing(1013, "too many programs without the token of this server; try again later")
_ANY: Collection[PathType] = tuple(PathType)
_SECRET_CHARACTERS = 8
"""Minimum length of a secret that is searched for inside other text.

A shorter secret could occur there by chance, so it is only compared with whole strings and bearer tokens.
"""


@dataclass(frozen=True, slots=True, eq=False)
class OnlineClient:
    """A registered client. Each registration or update creates a new `OnlineClient`."""

    info: ClientInfo
    revision: int
    """A number unique to each `OnlineClient`. A new number means that the client's paths may have changed."""
    session: Session

    @property
    def connection(self) -> Connection:
        return self.session.connection


class Hub:
    """All sessions and clients. Not thread-safe: use it in one event loop."""

    def __init__(self, limits: DriveLimits | None = None, hooks: Hooks | None = None) -> None:
        self.limits = limits or DriveLimits()
        self.hooks = hooks or Hooks()
        self._sessions: dict[str, Session] = {}
        self._unauthenticated: dict[str, Session] = {}
        self._clients: dict[str, OnlineClient] = {}
        self._paths = 0
        self._bytes = 0
        self._budget = OutboxBudget(self.limits.total_waiting_bytes)
        self._ended: dict[str, Closing] = {}
        self._refused: dict[str, Closing] = {}
        """How recent sessions of the HTTP loop ended, for clients that poll again.

        `_refused` has the unauthenticated sessions, so that they do not displace other sessions in `_ended`.
        """
        self._listeners: list[Listener] = []
        self._presence_listeners: list[PresenceListener] = []
        self._revision = 0
        self._closed = False
        self._secret: str | None = None
        self._redacted: tuple[bytes, ...] = ()

    def redact(self, secret: str) -> None:
        """Refuse to send calls that contain `secret`, and remove it from the claims in registrations."""
        self._secret = secret
        encoded = orjson.dumps(secret)
        if len(secret) >= _SECRET_CHARACTERS:
            self._redacted += (encoded[1:-1],)
        else:
            self._redacted += (encoded, b"Bearer " + encoded[1:])

    # Sessions

    def connect(self, connection: Connection) -> Session:
        """Begin a session. If a limit is reached, end the oldest unauthenticated session to make room.

        Raises `FullError` if there is still no room, or if the hub is closed.
        """
        authenticated = connection.verify_token is None
        if self._unauthenticated and (
            len(self._sessions) >= self.limits.sessions
            or (not authenticated and len(self._unauthenticated) >= self.limits.unauthenticated)
        ):
            self.end_session(next(iter(self._unauthenticated.values())), CROWDED_OUT)
        if self._closed or len(self._sessions) >= self.limits.sessions:
            raise FullError(f"{self.limits.sessions:,} programs are connected, which is the limit")
        session = Session(connection, self.limits, self._budget)
        self._sessions[session.id] = session
        if not authenticated:
            self._unauthenticated[session.id] = session
        return session

    def session(self, session_id: str, mode: Mode) -> Session | None:
        """Return the session with this id and transport, or None if it is unknown or has ended."""
        session = self._sessions.get(session_id)
        return session if session is not None and session.connection.mode is mode else None

    def disconnect(self, client_id: str, reason: str = "") -> None:
        """End the session of a client, if it is registered. The client may connect again."""
        if (online := self._clients.get(client_id)) is not None:
            self.end_session(online.session, Closing(NORMAL.code, reason))

    def ending(self, session_id: str) -> Closing | None:
        """Return how a session of the HTTP loop ended, or None if it did not end recently."""
        return self._ended.get(session_id) or self._refused.get(session_id)

    def end_session(self, session: Session, closing: Closing = NORMAL) -> None:
        """End a session, and unregister its client. Does nothing if the session has already ended."""
        if self._sessions.pop(session.id, None) is None:
            return
        self._unauthenticated.pop(session.id, None)
        session.close(closing)
        if session.connection.mode is Mode.HTTP_LOOP:
            session.discard()
            ended = self._ended if session.authenticated else self._refused
            ended[session.id] = closing
            if len(ended) > (self.limits.sessions if session.authenticated else self.limits.unauthenticated):
                del ended[next(iter(ended))]
        self._withdraw(session)

    async def receive(self, session: Session, value: object) -> None:
        """Process a message from a client. Raises `ShapeError` or `DriveError`."""
        session.touch()
        self._require_authentication(session, value)
        message = read_client_message(value)
        await self._take(session, message)

    def _require_authentication(self, session: Session, value: object) -> None:
        """Raise `UnauthenticatedError` unless the client has sent the token, or sends it now."""
        if session.authenticated:
            return
        verify_token = session.connection.verify_token
        if verify_token is None or not verify_token(value):
            raise UnauthenticatedError
        session.authenticated = True
        self._unauthenticated.pop(session.id, None)

    async def _take(self, session: Session, message: ClientMessage) -> None:
        """Process a parsed message."""
        match message:
            case RegisterClient():
                await self._register(session, message)
            case UpdateCatalog(client_id, paths):
                known = self._own(session, client_id)
                self._admit(session, replace(known, paths=paths))
            case UnregisterClient(client_id):
                if session.client is not None and session.client.id == client_id:
                    self._withdraw(session)
            case CallResult():
                session.answer(message)
            case Ping(timestamp):
                session.post(pong(timestamp))
            case Pong():
                pass  # `receive` has already recorded the activity

    async def _register(self, session: Session, message: RegisterClient) -> None:
        """Register a client for the session, in place of the session's earlier client.

        Another session with the same client id ends. Raises `FullError`, `ProtocolViolationError` if a hook
        denies the registration, or `HookFailedError` if it fails.
        """
        client = message.client
        auth = None if message.auth is None else message.auth.without(self._secret)
        self._check_capacity(client, session.client)
        try:
            await self.hooks.authorize_registration(client, auth, session.connection.auth)
        except DeniedError as error:
            raise ProtocolViolationError(str(error)) from error
        except Exception as error:
            _log.exception("the hook for the registration of %s failed", quoted(client.id))
            raise HookFailedError from error
        if session.closing is not None:
            return  # it disconnected while the hook was deciding
        self._check_capacity(client, session.client)
        if session.client is not None and session.client.id != client.id:
            self._withdraw(session)
        session.registered_auth = auth
        if (other := self._clients.get(client.id)) is not None and other.session is not session:
            self.end_session(other.session, REPLACED)
        self._admit(session, client)

    def _own(self, session: Session, client_id: str) -> ClientInfo:
        """Return the session's client. Raises `ProtocolViolationError` if it does not have this id."""
        if session.client is None or session.client.id != client_id:
            raise ProtocolViolationError(f"program {quoted(client_id)} is not registered on this session")
        return session.client

    def _check_capacity(self, client: ClientInfo, before: ClientInfo | None = None) -> None:
        """Raise `FullError` if `client` exceeds a limit.

        Registered clients with the id of `client` or `before` do not count, because `client` replaces them.
        """
        ids = {client.id} if before is None else {client.id, before.id}
        leaving = [each.info for each in map(self._clients.get, ids) if each is not None]
        paths = self._paths - sum(len(each.paths) for each in leaving)
        if paths + len(client.paths) > self.limits.total_paths:
            raise FullError(f"all programs together may have at most {self.limits.total_paths:,} paths")
        if self._bytes - sum(each.size for each in leaving) + client.size > self.limits.total_bytes:
            raise FullError(f"all registrations together may have at most {self.limits.total_bytes:,} bytes")

    def _admit(self, session: Session, client: ClientInfo) -> None:
        """Register a client for the session. Replaces a client with the same id. Raises `FullError`."""
        self._check_capacity(client)
        known = self._clients.get(client.id)
        if known is not None:
            self._release_capacity(known.info)
        self._paths += len(client.paths)
        self._bytes += client.size
        session.client = client
        session.table = PathTable.of(client.paths)
        self._revision += 1
        self._clients[client.id] = OnlineClient(client, self._revision, session)
        self._notify()
        if known is None:
            self._notify_presence(client, registered=True)

    def _withdraw(self, session: Session) -> None:
        """Unregister the client of a session, and fail its unanswered calls."""
        session.fail_calls()
        client, session.client, session.table = session.client, None, PathTable()
        session.registered_auth = None
        session.nameless = time.monotonic()
        known = None if client is None else self._clients.get(client.id)
        if known is not None and known.session is session:
            del self._clients[known.info.id]
            self._release_capacity(known.info)
            self._notify()
            self._notify_presence(known.info, registered=False)

    def _release_capacity(self, client: ClientInfo) -> None:
        self._paths -= len(client.paths)
        self._bytes -= client.size

    # Clients and paths

    def listen(self, listener: Listener) -> None:
        """Call `listener` after every change to the clients or their paths."""
        self._listeners.append(listener)

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()

    def listen_to_presence(self, listener: PresenceListener) -> None:
        """Call `listener` after a client registers or unregisters, except when the hub is closed."""
        self._presence_listeners.append(listener)

    def _notify_presence(self, client: ClientInfo, *, registered: bool) -> None:
        if not self._closed:
            for listener in self._presence_listeners:
                listener(client, registered)

    @property
    def clients(self) -> tuple[OnlineClient, ...]:
        """The registered clients, in order of registration."""
        return tuple(self._clients.values())

    def clients_at(self, method: str, path: str) -> tuple[str, ...]:
        """Return the ids of the clients that provide this path with this method."""
        requested = _parse_path(path)
        if requested is None:
            return ()
        return tuple(key for key, each in self._clients.items() if each.session.table.find(method, requested))

    def find(
        self, client_id: str, method: str, path: str, types: Collection[PathType] = _ANY
    ) -> tuple[Descriptor, dict[str, str]] | None:
        """Return the client's descriptor that matches the method and path, and the path parameters.

        Return None if the client is not registered, or has no such descriptor of one of the `types`.
        """
        online, requested = self._clients.get(client_id), _parse_path(path)
        return (
            None
            if online is None or requested is None
            else online.session.table.find(method, requested, types)
        )

    # Calls

    async def call(self, client_id: str, request: PathRequest, types: Collection[PathType] = _ANY) -> Answer:
        """Call a client's path, and return the client's answer. Raises `CallFailedError`."""
        online = self._clients.get(client_id)
        if online is None:
            raise NoSuchPathError(f"no program {quoted(client_id)} is connected")
        if (found := self.find(client_id, request.method, request.path, types)) is None:
            raise NoSuchPathError(_not_found_message(client_id, request))
        descriptor, params = found
        call = CallClient(
            str(uuid4()),
            client_id,
            request.method,
            request.path,
            params,
            request.query,
            request.body,
            request.headers,
            request.auth,
            request.null_body,
        )
        message = self._sendable(call)  # first, because hooks must not get the token of the server either
        await self.hooks.authorize_invocation(Invocation(online.info, descriptor, params, request))
        return await online.session.ask(call.request_id, message)

    def _sendable(self, call: CallClient) -> bytes:
        """Encode a call for sending.

        Raises `UnsendableError` if it cannot be encoded, contains the server's token, or is too large.
        """
        try:
            message = orjson.dumps(call.to_json())
        except TypeError as error:  # too deep, an integer of more than 64 bits, or a lone surrogate
            raise UnsendableError(f"the request cannot be sent as JSON: {error}") from error
        if any(secret in message for secret in self._redacted):
            raise UnsendableError(
                "the request contains the token of this server, which is never sent to programs"
            )
        if len(message) > self.limits.body:
            raise UnsendableError(
                f"the request has {len(message):,} bytes; the limit is {self.limits.body:,}"
            )
        return message

    # Life cycle

    async def run(self) -> None:
        """Until cancelled, ping clients, and end sessions that are silent or have no registered client."""
        while True:
            await anyio.sleep(min(self.limits.ping_seconds, self.limits.register_seconds) / 3)
            now = time.monotonic()
            for session in tuple(self._sessions.values()):
                if now - session.seen > self.limits.silence_seconds:
                    self.end_session(session)
                elif session.client is None and now - session.nameless > self.limits.register_seconds:
                    self.end_session(
                        session, Closing(NORMAL.code, "no program has registered on this session")
                    )
                elif now - session.pinged >= self.limits.ping_seconds:
                    session.pinged = now
                    session.post(ping(int(time.time() * 1000)))

    def close(self) -> None:
        """End every session, and refuse new sessions."""
        self._closed = True
        for session in tuple(self._sessions.values()):
            self.end_session(session, Closing(1012, "the server is shutting down"))


def _parse_path(path: str) -> LivePath | None:
    try:
        return LivePath.parse(path)
    except InvalidValueError:
        return None


def _not_found_message(client_id: str, request: PathRequest) -> str:
    requested = _parse_path(request.path)
    if requested is not None and requested.parameters:
        return f"{quoted(request.path)} is a pattern; replace `:{requested.parameters[0]}` with a value"
    what = f"path {quoted(request.path)} with method {quoted(request.method)}"
    return f"the program {quoted(client_id)} has no {what}"
