"""Pieces that the HTTP routes share: bodies within bounds, addresses without tricks, errors as JSON."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, unquote_to_bytes

import orjson
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from skillwire.model.errors import InvalidValueError, SkillwireError
from skillwire.model.json_text import JsonTooLargeError, load_bounded_json

JSON_TYPE = "application/json; charset=utf-8"
_MALFORMED = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_FORWARDED = frozenset({"content-type", "user-agent"})
_PRIVATE_WORDS = ("auth", "token", "key", "secret", "session", "oidc", "jwt", "credential", "cookie")
"""A header with one of these anywhere in its name may carry an identity or a secret."""
_PRIVATE_PREFIXES = ("x-forwarded-", "x-amzn-", "x-mdp-", "x-skillwire-")
_NEVER = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
_HEADER_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)


class HttpError(SkillwireError):
    """A request that is answered with an error: the status, what is told, and how a session ended."""

    def __init__(self, status: int, message: str, code: int | None = None) -> None:
        self.status = status
        self.code = code
        super().__init__(message)


async def read_json(request: Request, limit: int, max_values: int) -> object:
    """Return the body of a request as JSON; an empty one is None. Raises `HttpError`."""
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise _too_large(limit)
    if not body:
        return None
    try:
        return load_bounded_json(bytes(body), max_values=max_values)
    except JsonTooLargeError as error:
        raise HttpError(413, str(error)) from error
    except orjson.JSONDecodeError as error:
        raise HttpError(400, f"the body is not JSON: {error}") from error


def path_segments(scope: Scope) -> list[str]:
    """Return the segments of the address as it was sent, decoded one by one. Raises `HttpError`."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    segments = [_decoded(segment, "path") for segment in raw.partition(b"?")[0].split(b"/")[1:]]
    if any("/" in segment for segment in segments):  # an escaped slash separates nothing
        raise HttpError(404, "no segment of a path holds a slash")
    return segments


def queries(scope: Scope) -> dict[str, str]:
    """Return the query of the address; of several values, the last. Raises `HttpError`."""
    raw: bytes = scope["query_string"]
    _decoded(raw, "query")
    return dict(parse_qsl(raw.decode("ascii", errors="replace"), keep_blank_values=True))


class HeaderRule:
    """Which headers of a reader a program gets: never who the reader is, nor how the request came here."""

    def __init__(self, names: Iterable[str] | None = None) -> None:
        """With `names`, exactly these, whatever the rule says. Raises `InvalidValueError`."""
        self._names = None if names is None else frozenset(map(_checked_name, names))

    def forwarded(self, headers: Headers) -> dict[str, str]:
        """Return the headers of a request that a program gets."""
        names = {name for name in headers if self.allows(name)}
        return {name: ", ".join(headers.getlist(name)) for name in sorted(names)}

    def allows(self, name: str) -> bool:
        """Whether programs get the header of this name, in lower case."""
        if self._names is not None:
            return name in self._names
        if name.startswith(_PRIVATE_PREFIXES) or any(word in name for word in _PRIVATE_WORDS):
            return False
        return name in _FORWARDED or name.startswith(("accept", "x-"))


def _checked_name(text: str) -> str:
    name = text.strip().lower()
    if not _HEADER_NAME.fullmatch(name):
        raise InvalidValueError("header", text, "the name of an HTTP header, such as `x-review-scope`")
    if name in _NEVER or name.startswith(("x-mdp-", "x-skillwire-")):
        raise InvalidValueError(
            "header", text, "one that programs may get; credentials reach them only by a hook"
        )
    return name


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    content = orjson.dumps(value)
    return Response(content, status, headers, media_type=JSON_TYPE)


def _decoded(raw: bytes, where: str) -> str:
    if _MALFORMED.search(raw):
        raise HttpError(400, f"the {where} holds a `%` without two hexadecimal digits after it")
    try:
        return unquote_to_bytes(raw).decode()
    except UnicodeDecodeError as error:
        raise HttpError(400, f"the {where} is not UTF-8 where it is percent-encoded") from error


def _too_large(limit: int) -> HttpError:
    return HttpError(413, f"a body may have {limit:,} bytes")
