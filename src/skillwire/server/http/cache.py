"""The response cache over HTTP. It runs after authentication and before the SDK."""

from collections import deque
from collections.abc import Callable
from functools import lru_cache

import orjson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillwire.protocol.messages import RESOURCES_READ
from skillwire.server.build import shows_token
from skillwire.server.cached_requests import MODERN_VERSION, parse_request
from skillwire.server.http.byte_budget import UNCOUNTED_BYTES, ByteBudget, refuse
from skillwire.server.response_cache import ResponseCache, wrap_result

_JSON = b"application/json"
_SINGLE_HEADERS = frozenset({b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"content-type", b"accept"})
"""Headers that determine the meaning of a request. If a header is repeated, the SDK answers."""
_UNKNOWN = frozenset({b"mcp-session-id", b"content-encoding"})
"""Headers that mark requests which the cache never answers."""


class ResponseCacheMiddleware:
    """Answers requests from the response cache. Passes all other requests on to `app` unchanged."""

    def __init__(
        self,
        app: ASGIApp,
        cache: ResponseCache | Callable[[], ResponseCache | None],
        path: str,
        budget: ByteBudget,
    ) -> None:
        """Create the middleware.

        `cache` is a cache, or a function that returns it. The function is called for each request, because
        middleware or handlers can be added to the server at any time. If it returns None, `app` answers.
        """
        self._app = app
        self._cache = cache
        self._path = path
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] != "POST"
            or scope["path"] != self._path
            or (relevant := _relevant_headers(scope["headers"])) is None
        ):
            await self._app(scope, receive, send)
            return
        cache = self._cache if isinstance(self._cache, ResponseCache) else self._cache()
        # The response to a request with a token is private, and must be marked as private (S12).
        if cache is None or (shows_token(scope) and not cache.private):
            await self._app(scope, receive, send)
            return
        message = await receive()
        answer = await _answer(cache, message, relevant)
        if answer is None:
            await self._app(scope, _replay(message, receive), send)
            return
        length = str(len(answer)).encode()
        headers = [(b"content-length", length), (b"content-type", _JSON)]
        if len(answer) > UNCOUNTED_BYTES and not self._budget.has_room(len(answer)):
            await refuse(send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})


async def _answer(cache: ResponseCache, message: Message, relevant: dict[bytes, bytes]) -> bytes | None:
    """Return the response to a request, or None if the cache cannot answer it."""
    body: bytes = message.get("body", b"")
    # A body that arrives in several parts is large or slow, so it is not worth caching.
    if message["type"] != "http.request" or message.get("more_body", False):
        return None
    if (request := parse_request(body, modern=True)) is None:
        return None
    request_id, cache_key = request
    if relevant[b"mcp-method"] != cache_key.method.encode():
        return None
    if (
        cache_key.method == RESOURCES_READ
        and relevant.get(b"mcp-name") != (cache_key.argument or "").encode()
    ):
        return None
    # Each request has its own task. So however many are waiting, other tasks run between two of them.
    result = cache.get_cached(cache_key) or cache.answer_now(cache_key) or await cache.prepare(cache_key)
    return None if result is None else wrap_result(orjson.dumps(request_id), result)


def _relevant_headers(headers: list[tuple[bytes, bytes]]) -> dict[bytes, bytes] | None:
    """Return the relevant headers, or None if this is not a plain request of protocol 2026-07-28."""
    relevant: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _SINGLE_HEADERS:
            if name in relevant:
                return None
            relevant[name] = value
        elif name in _UNKNOWN:
            return None
    plain = (
        relevant.get(b"mcp-protocol-version") == MODERN_VERSION.encode()
        and b"mcp-method" in relevant
        and relevant.get(b"content-type") == _JSON
        and _accepts_json(relevant.get(b"accept", b""))
        and not relevant.get(b"mcp-name", b"").startswith(b"=?")  # an encoded value
    )
    return relevant if plain else None


@lru_cache(maxsize=64)
def _accepts_json(accept: bytes) -> bool:
    """Return whether an `Accept` header lists JSON without parameters."""
    return _JSON in (each.strip() for each in accept.split(b","))


def _replay(first: Message, receive: Receive) -> Receive:
    """Return a `receive` function that first returns `first` again, then passes calls on."""
    waiting = deque([first])

    async def replayed() -> Message:
        return waiting.popleft() if waiting else await receive()

    return replayed
