"""`HttpMount`, which adds HTTP routes, and helpers for routes: bounded JSON, safe paths and errors."""

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote_to_bytes

import orjson
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Receive, Scope

from skillwire.core.http_body import BodyTooLargeError, BoundedBody
from skillwire.core.json_text import JsonTooLargeError, load_bounded_json
from skillwire.errors import SkillwireError

JSON_TYPE = "application/json; charset=utf-8"
_LENGTH_DIGITS = 18
"""Maximum digits of a `Content-Length`. A longer number exceeds every limit and is not converted."""
_MALFORMED = re.compile(rb"%(?![0-9A-Fa-f]{2})")


class HttpError(SkillwireError):
    """An error response: HTTP status, message, and a WebSocket close code if one applies."""

    def __init__(self, status: int, message: str, code: int | None = None) -> None:
        self.status = status
        self.code = code
        super().__init__(message)


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """Return the complete body of a request.

    Raises `BodyTooLargeError`, or `ClientDisconnect` if the body ends early.

    A request that declares too many bytes is refused before its body is read.
    """
    declared = Headers(scope=scope).get("content-length", "").lstrip("0")
    if (
        declared.isascii()
        and declared.isdigit()
        and (len(declared) > _LENGTH_DIGITS or int(declared) > limit)
    ):
        raise BodyTooLargeError(limit)
    body = BoundedBody(limit)
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        body.add(message.get("body", b""))
        if not message.get("more_body", False):
            return bytes(body)


async def read_json(request: Request, limit: int, max_values: int) -> object:
    """Parse the body of a request as JSON. Return None if it is empty. Raises `HttpError`."""
    try:
        body = await read_body(request.scope, request.receive, limit)
    except BodyTooLargeError as error:
        raise HttpError(413, str(error)) from error
    if not body:
        return None
    try:
        return load_bounded_json(body, max_values=max_values)
    except JsonTooLargeError as error:
        raise HttpError(413, str(error)) from error
    except orjson.JSONDecodeError as error:
        raise HttpError(400, f"the body is not JSON: {error}") from error


def path_segments(scope: Scope) -> list[str]:
    """Return the segments of the raw request path, each percent-decoded. Raises `HttpError`."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    segments = [_decoded(segment, "path") for segment in raw.partition(b"?")[0].split(b"/")[1:]]
    if any("/" in segment for segment in segments):  # an escaped slash is not a separator
        raise HttpError(404, "a path segment must not contain an escaped slash")
    return segments


def parse_query(scope: Scope) -> dict[str, str]:
    """Return the query parameters. If a parameter is repeated, the last value counts. Raises `HttpError`."""
    raw: bytes = scope["query_string"]
    _decoded(raw, "query")
    return dict(parse_qsl(raw.decode("ascii", errors="replace"), keep_blank_values=True))


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    content = orjson.dumps(value)
    return Response(content, status, headers, media_type=JSON_TYPE)


def _decoded(raw: bytes, where: str) -> str:
    if _MALFORMED.search(raw):
        raise HttpError(400, f"the {where} contains a `%` without two hexadecimal digits after it")
    try:
        return unquote_to_bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise HttpError(400, f"the percent-encoded {where} is not UTF-8") from error


def authorize_none(_scope: Scope) -> bool:
    """Authorize no request."""
    return False


@dataclass(frozen=True, slots=True)
class HttpMount:
    """Routes to add to the application behind its guards, and what they need while the server runs."""

    routes: tuple[BaseRoute, ...] = ()
    open_paths: frozenset[str] = frozenset()
    """Paths that need no token in the header, because their routes check access themselves."""
    is_authorized: Callable[[Scope], bool] = authorize_none
    """A function that returns whether a request without the token is authorized in another way."""
    credentials: bool = False
    """Whether pages of allowed origins may send cookies."""
    connections: int = 0
    """Number of connections that the routes keep open, allowed in addition to the limit."""
    message_bytes: int | None = None
    """Maximum size of a WebSocket message in bytes; None if there are no WebSocket routes."""
    running: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    """Context manager that is entered while the application runs."""
    close: Callable[[], None] = lambda: None
    """Called when the server stops. Must end everything that is waiting."""
    announced: tuple[str, ...] = ()
    """Lines printed for the operator once the server listens."""


def join_mounts(mounts: Sequence[HttpMount]) -> HttpMount:
    """Join several mounts into one. If two routes match a request, the first route answers."""

    def is_authorized(scope: Scope) -> bool:
        return any(each.is_authorized(scope) for each in mounts)

    @asynccontextmanager
    async def running() -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for each in mounts:
                await stack.enter_async_context(each.running())
            yield

    def close() -> None:
        for each in mounts:
            each.close()

    sizes = [each.message_bytes for each in mounts if each.message_bytes is not None]
    return HttpMount(
        tuple(route for each in mounts for route in each.routes),
        open_paths=frozenset[str]().union(*(each.open_paths for each in mounts)),
        is_authorized=is_authorized,
        credentials=any(each.credentials for each in mounts),
        connections=sum(each.connections for each in mounts),
        message_bytes=max(sizes, default=None),
        running=running,
        close=close,
        announced=tuple(line for each in mounts for line in each.announced),
    )
