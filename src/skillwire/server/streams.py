"""Streams that stay open for as long as the server runs, and must end when it does."""

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class StreamCloser:
    """Knows the event streams that are open. Left alone, one would hold up the end of the server."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._streams: set[anyio.CancelScope] = set()
        self._closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        complete = False

        async def watched(message: Message) -> None:
            nonlocal complete
            if message["type"] == "http.response.start" and _is_stream(message):
                self._streams.add(request)
                if self._closing:
                    request.cancel()
            complete = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        with anyio.CancelScope() as request:
            try:
                await self._app(scope, receive, watched)
            finally:
                self._streams.discard(request)
        if request.cancelled_caught and not complete:  # the client sees an end, not a broken connection
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def close(self) -> None:
        """End every stream, and those that are about to open."""
        self._closing = True
        for request in self._streams:
            request.cancel()


def _is_stream(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith("text/event-stream")
