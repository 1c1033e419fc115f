"""The pages in a browser: routes, actions over HTTP, and the event stream that announces changes."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from skillwire.errors import NotServedError, RequestError, SkillwireError, UsageError
from skillwire.features.base import Call
from skillwire.pages.actions import (
    ChangeNotAllowedError,
    changing_actions,
    connect_action,
    reading_actions,
)
from skillwire.pages.built_html import built_page, content_policy
from skillwire.pages.connections import ConnectGuide
from skillwire.pages.overview import Overview
from skillwire.pages.sessions import PageSession, PageSessions, is_same_origin
from skillwire.server.http.routes import HttpError, HttpMount, json_response, read_json

MAX_STREAMS = 64
"""Maximum number of open event streams."""
_PAUSE = 0.1
"""Minimum number of seconds between two events."""
_KEEPALIVE_SECONDS = 20.0
PAGE_PATH, SESSION_PATH, EVENTS_PATH, CALL_PATH = "/", "/ui/session", "/ui/events", "/ui/call"
_MAX_BODY = 256 * 1024
_MAX_VALUES = 10_000
"""Maximum number of JSON values in the body of a request."""
OUTDATED = "outdated"
"""Error code after which a page fetches its CSRF token again, because the server was restarted."""
_NO_PAGE = "this call does not come from a page of this server; reload the page"
_USED_KEY = "this address was used before, or the server was restarted; it printed a new address on stderr"
_Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
_NO_STORE = {"cache-control": "no-store"}
UNLOCK_PAGE = (
    "open the address that ends in `#key=…`, which the server printed on stderr; each address works once"
)
"""Tells how to let a page change a server that has no token."""


class PageEvents:
    """Event streams that send the revision of an overview at once, after changes and at regular intervals."""

    def __init__(self, overview: Overview, is_over: Callable[[PageSession], bool]) -> None:
        self._overview = overview
        self._is_over = is_over
        self._open = 0

    def stream(self, session: PageSession | None) -> Response:
        """Return a stream that ends with `session`, or an error response if there are too many streams.

        If `session` is None, the stream ends when the client disconnects.
        """
        if self._open >= MAX_STREAMS:
            return json_response({"error": "too many pages are open", "hint": "close one of them"}, 503)
        self._open += 1
        return _Stream(self, session)

    def ended(self) -> None:
        self._open -= 1

    async def send(self, send: Send, session: PageSession | None) -> None:
        """Send events until cancelled, or until the session ends. Without a session, only until cancelled."""
        changed = anyio.Event()

        def wake() -> None:
            changed.set()

        stops = [self._overview.listen(wake)]
        if session is not None:
            stops.append(session.on_end(wake))
        try:
            while session is None or not self._is_over(session):
                event = b"data: %d\n\n" % self._overview.revision
                await send({"type": "http.response.body", "body": event, "more_body": True})
                with anyio.move_on_after(_KEEPALIVE_SECONDS):
                    await changed.wait()
                    if session is None or not session.closed:
                        await anyio.sleep(_PAUSE)
                changed = anyio.Event()
        finally:
            for stop in stops:
                stop()


class _Stream(Response):
    """An event stream as a response. Ends when the client disconnects or the session ends."""

    media_type = "text/event-stream"

    def __init__(self, events: PageEvents, session: PageSession | None) -> None:
        super().__init__(headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self._events = events
        self._session = session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - an ASGI app
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._wait_for_disconnect, receive, tasks.cancel_scope)
                await self._events.send(send, self._session)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                tasks.cancel_scope.cancel()
        finally:
            self._events.ended()

    async def _wait_for_disconnect(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()


def page_sessions(
    overview: Overview, token: str | None, new_key: Callable[[str], None] | None = None
) -> PageSessions:
    """Create the sessions of the pages.

    If the server is editable without a token, one-time keys open sessions. When a key is used, `new_key` is
    called with the next key. The first key is in `PageSessions.key`.
    """
    keys = token is None and overview.control.editable
    return PageSessions(token, new_key=(new_key or _ignore) if keys else None)


def page_mount(overview: Overview, sessions: PageSessions, connections: ConnectGuide) -> HttpMount:
    """Return the routes of the pages for browsers."""
    pages = Pages(overview, sessions, connections)
    return HttpMount(
        (
            Route(PAGE_PATH, pages.page, methods=["GET"]),
            Route(SESSION_PATH, _errors_as_responses(pages.session), methods=["GET"]),
            Route(SESSION_PATH, _errors_as_responses(pages.enter), methods=["POST"]),
            Route(SESSION_PATH, _errors_as_responses(pages.leave), methods=["DELETE"]),
            Route(EVENTS_PATH, _errors_as_responses(pages.events), methods=["GET"]),
            Route(f"{CALL_PATH}/{{action}}", _errors_as_responses(pages.call), methods=["POST"]),
        ),
        open_paths=frozenset({PAGE_PATH, SESSION_PATH}),
        is_authorized=pages.is_authorized,
        connections=MAX_STREAMS,
    )


class Pages:
    """Answers requests from browsers."""

    def __init__(self, overview: Overview, sessions: PageSessions, connections: ConnectGuide) -> None:
        self._overview = overview
        self._sessions = sessions
        changing = changing_actions(overview) if overview.control.editable else []
        reading = (*reading_actions(overview), connect_action(connections))
        self._actions = {action.name: action for action in (*reading, *changing)}
        self._html = built_page("browser.html")
        self._policy = content_policy(self._html)
        self._events = PageEvents(overview, sessions.is_over)

    def is_authorized(self, scope: Scope) -> bool:
        """Return whether a request needs no token: it is for a route of the pages and has a session."""
        ours = scope["type"] == "http" and scope["path"].startswith("/ui/")
        return ours and self._sessions.is_authorized(scope)

    async def page(self, _request: Request) -> Response:
        """Answer `GET /` with the page.

        The page is the same for everyone, and contains no data about skills.
        """
        headers = {
            "content-security-policy": self._policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            **_NO_STORE,
        }
        return Response(self._html, headers=headers, media_type="text/html; charset=utf-8")

    async def session(self, request: Request) -> Response:
        """Answer whether this browser may use the pages.

        If it may, the answer also has the CSRF token for calls, and whether there is a session to end.
        """
        _require_same_origin(request)
        session = self._sessions.find(request.headers)
        if not self._sessions.open and session is None and not self._sessions.has_token(request.headers):
            return json_response({"open": False}, headers=_NO_STORE)
        answer = {"open": True, "csrf": self._sessions.csrf, "canLeave": session is not None}
        return json_response(answer, headers=_NO_STORE)

    async def enter(self, request: Request) -> Response:
        """Open a session for the token or a one-time key, and return the session id.

        Raises `HttpError` if the token or the key is wrong.
        """
        _require_same_origin(request)
        match await read_json(request, _MAX_BODY, _MAX_VALUES):
            case {"token": str(token)}:
                identity, message = self._sessions.log_in_with_token(token.strip()), "the token is wrong"
            case {"key": str(key)}:
                identity, message = self._sessions.log_in_with_key(key), _USED_KEY
            case _:
                identity, message = None, "the token is wrong"
        if identity is None:
            raise HttpError(401, message)
        return json_response({"open": True, "session": identity}, headers=_NO_STORE)

    async def leave(self, request: Request) -> Response:
        """End the session of a page. The session id is invalid from now on."""
        _require_same_origin(request)
        self._sessions.leave(request.headers)
        return json_response({"open": False}, headers=_NO_STORE)

    async def call(self, request: Request) -> Response:
        """Run the action that a page requests. The page must send its session id or the CSRF token."""
        _require_same_origin(request)
        session = self._sessions.find(request.headers)
        if session is None and not self._sessions.has_csrf(request.headers):
            return _error_response(403, _NO_PAGE, code=OUTDATED)
        action = self._actions.get(request.path_params["action"])
        if action is None:
            raise HttpError(404, "there is no such action; changes require a server with `--allow-config`")
        arguments = await read_json(request, _MAX_BODY, _MAX_VALUES)
        if not isinstance(arguments, dict):
            raise HttpError(400, "the arguments must be a JSON object")
        trusted = session is not None or self._sessions.has_token(request.headers)
        call = Call(cast("dict[str, object]", arguments), trusted)
        return json_response(await action.run(call), headers=_NO_STORE)

    async def events(self, request: Request) -> Response:
        """Return a stream that signals when to load data again. It ends when the page's session ends."""
        _require_same_origin(request)
        return self._events.stream(self._sessions.find(request.headers))


def _require_same_origin(request: Request) -> None:
    if not is_same_origin(request.headers):
        raise HttpError(403, "only pages of this server may call this")


def _errors_as_responses(handler: _Handler) -> _Handler:
    """Wrap `handler` so that each `SkillwireError` becomes an error response."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except HttpError as error:
            return _error_response(error.status, str(error))
        except ChangeNotAllowedError as error:
            return _error_response(403, str(error), error.hint)
        except UsageError as error:
            return _error_response(409, str(error), error.hint)
        except RequestError as error:
            return _error_response(404 if isinstance(error, NotServedError) else 400, str(error))
        except SkillwireError as error:
            return _error_response(500, str(error))

    return answer


def _error_response(status: int, message: str, hint: str = "", code: str = "") -> Response:
    body = {"error": message, "hint": hint, **({"code": code} if code else {})}
    return json_response(body, status, _NO_STORE)


def _ignore(_key: str) -> None:
    pass
