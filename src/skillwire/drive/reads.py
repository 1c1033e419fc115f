"""Live skills over plain HTTP: `GET /skills/<client>/<path>` and `GET /<client>/skills/<path>`."""

import hashlib
from collections.abc import Sequence

from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from skillwire.drive.errors import (
    BusyError,
    DeniedError,
    GoneError,
    NoSuchPathError,
    ResolverError,
    TimedOutError,
    UnsendableError,
    call_error,
)
from skillwire.drive.headers import HeaderRule
from skillwire.drive.hub import Hub
from skillwire.drive.identity import Identities
from skillwire.drive.messages import Answer, ErrorCode, Nothing
from skillwire.drive.paths import SKILL_LEAVES
from skillwire.drive.policy import PathRequest
from skillwire.drive.registration import GET, PathType
from skillwire.errors import CallFailedError
from skillwire.server.http.routes import json_response, parse_query, path_segments

ALLOWED = "GET, HEAD, OPTIONS"
_ROUTE = "skills"
_UNNAMED_TYPE = "text/plain"
"""The content type of a skill that is registered without a content type."""
_STATUS: dict[type[CallFailedError], int] = {
    DeniedError: 400,
    UnsendableError: 400,
    NoSuchPathError: 404,
    ResolverError: 502,
    GoneError: 503,
    BusyError: 503,
    TimedOutError: 504,
}
# The text comes from another program, so browsers must not run it as a page from this server.
_SAFE_HEADERS = {
    "cache-control": "no-cache",
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
}


class ReadEndpoint:
    """Serves live skills to HTTP readers."""

    def __init__(self, hub: Hub, identities: Identities, headers: HeaderRule) -> None:
        self._hub = hub
        self._identities = identities
        self._headers = headers

    async def read(self, request: HttpRequest) -> Response:
        """Handle `GET`, `HEAD` or `OPTIONS` for a live skill."""
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"allow": ALLOWED})
        client_id, segments = _address(path_segments(request.scope))
        path_request = PathRequest(
            GET,
            self._registered(client_id, segments),
            query=dict(parse_query(request.scope)),
            headers=self._headers.forwarded(request.headers),
            auth=self._identities.reader_auth(request.headers),
        )
        found = self._hub.find(client_id, GET, path_request.path, [PathType.SKILL])
        content_type = (found[0].content_type if found else None) or _UNNAMED_TYPE
        try:
            data = await self._hub.call(client_id, path_request, [PathType.SKILL])
        except CallFailedError as error:
            answer = call_error(error)
            status = 404 if answer.code == ErrorCode.NOT_FOUND else _STATUS.get(type(error), 502)
            return json_response({"error": answer.to_json()}, status, _SAFE_HEADERS)
        return _with_etag(_response(data, content_type), request.headers.get("if-none-match", ""))

    def _registered(self, client_id: str, segments: Sequence[str]) -> str:
        """Return the path that the client registered for the segments of a request.

        The request may omit the last segment, `skill.md`, or write it in the other case. If no path is
        registered, return the requested path, with `skill.md` added if the segment is missing.
        """
        folder = segments[:-1] if segments and segments[-1] in SKILL_LEAVES else segments
        leaf_sent = [segments[-1]] if len(folder) < len(segments) else []
        paths = ["/".join(["", *folder, leaf]) for leaf in dict.fromkeys([*leaf_sent, *SKILL_LEAVES])]
        known = (path for path in paths if self._hub.find(client_id, GET, path, [PathType.SKILL]))
        return next(known, paths[0])


def _address(segments: list[str]) -> tuple[str, list[str]]:
    """Return the client id and the segments of the client's path in a URL. One trailing slash is ignored."""
    client, *path = segments[1:] if segments[0] == _ROUTE else [segments[0], *segments[2:]]
    return client, path[:-1] if path and not path[-1] else path


def _response(data: Answer, content_type: str) -> Response:
    if isinstance(data, str):
        return Response(data, headers=_SAFE_HEADERS, media_type=content_type)
    return json_response({} if isinstance(data, Nothing) else {"data": data}, headers=_SAFE_HEADERS)


def _with_etag(response: Response, known: str) -> Response:
    """Return `response` with an entity tag, or 304 if the reader already has this content."""
    tag = f'"{hashlib.sha256(bytes(response.body)).hexdigest()[:32]}"'
    sent = {each.strip().removeprefix("W/") for each in known.split(",")}
    if sent & {tag, "*"}:
        return Response(status_code=304, headers={**_SAFE_HEADERS, "etag": tag})
    response.headers["etag"] = tag
    return response
