"""A bound on the sessions of clients of the 2025 versions: the session that is idle longest makes room."""

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"
_OVER = 404
"""The status that a request in a session gets when the session has ended."""


class SessionLimit:
    """Learns the sessions of `path` from the answers, and keeps them in the order of their last use.

    The SDK can only refuse new sessions: clients that leave without a word would lock out all others until
    their sessions expire. Here the longest idle session is ended instead, as its client would do. A session
    is in use while a request of it is running, such as an event stream.
    """

    def __init__(self, app: ASGIApp, path: str, most: int) -> None:
        self._app, self._path, self._most = app, path, most
        self._requests: dict[str, int] = {}
        """How many requests of each session are running. The session that was used last comes last."""
        self._unused: dict[str, None] = {}
        """Sessions without a request since they were opened. They go first."""
        self._opening = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != self._path:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if headers.get(_VERSION) not in {None, *HANDSHAKE_PROTOCOL_VERSIONS}:
            # The SDK looks for no session here, whatever the request says. It opens none, and ends none.
            await self._app(scope, receive, send)
            return
        identity = headers.get(_SESSION)
        if identity in self._requests:
            await self._use(identity, scope, receive, send)
        elif identity is None and scope["method"] == "POST":
            await self._open(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _use(self, identity: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request of a session, and note that the session is in use meanwhile."""
        over = False

        async def watched(message: Message) -> None:
            nonlocal over
            if message["type"] == "http.response.start":
                ended = scope["method"] == "DELETE" and message["status"] < 400
                over = ended or message["status"] == _OVER
            await send(message)

        self._unused.pop(identity, None)
        self._requests[identity] = self._requests.pop(identity) + 1
        try:
            await self._app(scope, receive, watched)
        finally:
            running = self._requests.pop(identity, None)
            if running is not None and not over:
                self._requests[identity] = running - 1

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request that opens a session if its answer names one."""
        if len(self._requests) + self._opening >= self._most and not await self._make_room(scope):
            response = JSONResponse({"error": "too many sessions are in use; try again later"}, 503)
            await response(scope, receive, send)
            return

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                identity = Headers(raw=message["headers"]).get(_SESSION)
                if identity is not None and message["status"] < 400:
                    self._requests[identity] = 0
                    self._unused[identity] = None
            await send(message)

        self._opening += 1
        try:
            await self._app(scope, receive, watched)
        finally:
            self._opening -= 1

    async def _make_room(self, scope: Scope) -> bool:
        """End the session that was idle longest. Return whether there was one."""
        idle = next(iter(self._unused), None)
        if idle is None:
            idle = next((identity for identity, running in self._requests.items() if not running), None)
        if idle is None:
            return False
        self._unused.pop(idle, None)
        del self._requests[idle]
        headers = [
            (b"host", b"localhost"),
            (b"accept", b"application/json"),
            (_SESSION.encode(), idle.encode()),
        ]
        await self._app({**scope, "method": "DELETE", "headers": headers}, _nothing, _ignored)
        return True


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignored(_message: Message) -> None:
    """Take an answer that no client waits for."""
