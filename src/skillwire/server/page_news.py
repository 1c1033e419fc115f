"""A stream of events that tells a page when something else is to be shown."""

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from skillwire.surfaces.overview import Overview

MOST_STREAMS = 64
_PAUSE = 0.1
"""Seconds between two pieces of news."""
_SIGN_OF_LIFE = 20.0


class News:
    """Streams the revision of an overview, now and whenever it is another."""

    def __init__(self, overview: Overview) -> None:
        self._overview = overview
        self._open = 0

    @property
    def full(self) -> bool:
        return self._open >= MOST_STREAMS

    def stream(self) -> Response:
        return _Stream(self)

    async def send(self, send: Send) -> None:
        """Send until cancelled."""
        something = anyio.Event()

        def wake() -> None:
            something.set()

        self._open += 1
        stop = self._overview.listen(wake)
        try:
            while True:
                told = b"data: %d\n\n" % self._overview.revision
                await send({"type": "http.response.body", "body": told, "more_body": True})
                with anyio.move_on_after(_SIGN_OF_LIFE):
                    await something.wait()
                    await anyio.sleep(_PAUSE)
                something = anyio.Event()
        finally:
            stop()
            self._open -= 1


class _Stream(Response):
    """Ends with the connection."""

    media_type = "text/event-stream"

    def __init__(self, news: News) -> None:
        super().__init__(headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self._news = news

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - an ASGI app
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._news.send, send)
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()
