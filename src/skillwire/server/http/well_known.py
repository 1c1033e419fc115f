"""Publish skills at `/.well-known/agent-skills/` for installers, behind the same guards as MCP."""

import re
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from skillwire.core.mime import is_text
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Digest
from skillwire.errors import SkillwireError
from skillwire.features.live_site import LiveSite, NotPublishedError
from skillwire.library.library import Library
from skillwire.protocol.delivery import detect_archive_format
from skillwire.protocol.discovery import INDEX_FILE, WELL_KNOWN_FOLDER
from skillwire.server.http.routes import HttpError, HttpMount, json_response, path_segments

WELL_KNOWN_PATH = f"/{WELL_KNOWN_FOLDER}"
_ABOVE = len(WELL_KNOWN_FOLDER.split("/"))
# The pattern begins with a fixed character. If it began with an optional space, matching a long header could
# take quadratic time.
_ETAGS = re.compile(r'("[^"]*")[ \t]*(?:,|$)')
_MARKDOWN, _TEXT, _BINARY = (
    "text/markdown; charset=utf-8",
    "text/plain; charset=utf-8",
    "application/octet-stream",
)
_UNTRUSTED = {
    "x-content-type-options": "nosniff",
    # A browser must never run a skill's file as a page from this server.
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
}


def well_known_mount(library: Library, *, private: bool) -> HttpMount:
    """Return a mount with the route from which programs install skills.

    With `private`, responses are marked so that shared caches do not store them.
    """
    site = WellKnown(LiveSite(library), private=private)
    return HttpMount((Route(f"{WELL_KNOWN_PATH}/{{path:path}}", site.answer, methods=["GET", "HEAD"]),))


class WellKnown:
    """Handles requests for the index, downloads and single files."""

    def __init__(self, site: LiveSite, *, private: bool) -> None:
        self._site = site
        share = "private" if private else "public"
        self._fresh = f"{share}, no-cache"
        self._immutable = f"{share}, max-age=31536000, immutable"

    async def answer(self, request: Request) -> Response:
        try:
            return await self._answer(request)
        except NotPublishedError as error:
            return _error_response(404, str(error))
        except HttpError as error:
            return _error_response(error.status, str(error))
        except SkillwireError as error:
            return _error_response(500, str(error))

    async def _answer(self, request: Request) -> Response:
        head, *rest = path_segments(request.scope)[_ABOVE:]
        if head == INDEX_FILE and not rest:
            index = await self._site.index()
            return _content(request, index.content, index.digest, "application/json", self._fresh)
        if "." in head:
            return await self._download(request, "/".join([head, *rest]))
        if not rest:
            raise NotPublishedError(f"nothing is published here; `{INDEX_FILE}` lists what is")
        content, digest = await self._site.file(head, "/".join(rest))
        return _content(request, content, digest, _media_type(rest[-1], content), self._fresh)

    async def _download(self, request: Request, path: str) -> Response:
        found = await self._site.find(path)
        headers = _headers(found.artifact.digest, self._immutable)
        if _has_current_copy(request, found.artifact.digest):
            return Response(status_code=304, headers=headers)
        form = detect_archive_format(path)
        media_type = _MARKDOWN if form is None else form.mime_type
        if request.method == "HEAD":
            headers |= {"content-length": str(found.size)}
            return Response(headers=headers, media_type=media_type)
        return Response(await self._site.content(found), headers=headers, media_type=media_type)


def _content(request: Request, content: bytes, digest: Digest, media_type: str, caching: str) -> Response:
    headers = _headers(digest, caching)
    if _has_current_copy(request, digest):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def _headers(digest: Digest, caching: str) -> dict[str, str]:
    return {"etag": f'"{digest.text}"', "cache-control": caching, **_UNTRUSTED}


def _has_current_copy(request: Request, digest: Digest) -> bool:
    """Return whether the client already has these bytes, by `If-None-Match` (RFC 9110, 13.1.2)."""
    header = ",".join(request.headers.getlist("if-none-match"))
    return header.strip() == "*" or f'"{digest.text}"' in _ETAGS.findall(header)


def _media_type(name: str, content: bytes) -> str:
    """Return a media type that no browser executes. All text except Markdown is sent as plain text."""
    if not is_text(content):
        return _BINARY
    return _MARKDOWN if name == SKILL_FILE or name.endswith(".md") else _TEXT


def _error_response(status: int, message: str) -> Response:
    headers: Mapping[str, str] = {"cache-control": "no-store", **_UNTRUSTED}
    return json_response({"error": message}, status, headers)
