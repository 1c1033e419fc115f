"""A stream of events that tells a page when to load again."""

from collections.abc import Callable

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from skillwire.drive.web import json_response
from skillwire.server.page_session import PageSession
from skillwire.surfaces.overview import Overview

MOST_STREAMS = 64
"""Event streams at the same time."""
_PAUSE = 0.1
"""Seconds between two events."""
_SIGN_OF_LIFE = 20.0


class News:
    """Streams the revision of an overview, now and after every change."""

    def __init__(self, overview: Overview, is_over: Callable[[PageSession], bool]) -> None:
        self._overview = overview
        self._is_over = is_over
        self._open = 0

    def stream(self, session: PageSession | None) -> Response:
        """Return a stream that ends with `session`, if there is one; an error if there are too many."""
        if self._open >= MOST_STREAMS:
            return json_response({"error": "too many pages are open", "hint": "close one"}, 503)
        self._open += 1
        return _Stream(self, session)

    def ended(self) -> None:
        self._open -= 1

    async def send(self, send: Send, session: PageSession | None) -> None:
        """Send until cancelled, or until the session is over."""
        something = anyio.Event()

        def wake() -> None:
            something.set()

        stops = [self._overview.listen(wake)]
        if session is not None:
            stops.append(session.on_end(wake))
        try:
            while session is None or not self._is_over(session):
                told = b"data: %d\n\n" % self._overview.revision
                await send({"type": "http.response.body", "body": told, "more_body": True})
                with anyio.move_on_after(_SIGN_OF_LIFE):
                    await something.wait()
                    if session is None or not session.over:
                        await anyio.sleep(_PAUSE)
                something = anyio.Event()
        finally:
            for stop in stops:
                stop()


class _Stream(Response):
    """Ends with the connection."""

    media_type = "text/event-stream"

    def __init__(self, news: News, session: PageSession | None) -> None:
        super().__init__(headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self._news = news
        self._session = session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - an ASGI app
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._until_gone, receive, tasks.cancel_scope)
                await self._news.send(send, self._session)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                tasks.cancel_scope.cancel()
        finally:
            self._news.ended()

    async def _until_gone(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()
