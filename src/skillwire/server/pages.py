"""The pages in a browser: one HTML file at `/`, and what it asks for below `/ui/`, behind the same walls."""

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from skillwire.drive.web import HttpError, json_response, read_json
from skillwire.model.errors import NotServedError, RequestError, SkillwireError, UsageError
from skillwire.server.http import Annex
from skillwire.server.page_news import MOST_STREAMS, News
from skillwire.server.page_session import PageSession, is_same_origin
from skillwire.surfaces.actions import changing_actions, reading_actions
from skillwire.surfaces.base import Call
from skillwire.surfaces.built import built_page
from skillwire.surfaces.overview import Overview

PAGE_PATH, SESSION_PATH, EVENTS_PATH, CALL_PATH = "/", "/ui/session", "/ui/events", "/ui/call"
_MAX_BODY = 256 * 1024

_Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
_NO_STORE = {"cache-control": "no-store"}


def page_annex(overview: Overview, token: str | None = None) -> Annex:
    """Return what the HTTP application holds besides, so that browsers can show the pages."""
    pages = Pages(overview, PageSession(token))
    return Annex(
        (
            Route(PAGE_PATH, pages.page, methods=["GET"]),
            Route(SESSION_PATH, _told(pages.session), methods=["GET"]),
            Route(SESSION_PATH, _told(pages.enter), methods=["POST"]),
            Route(SESSION_PATH, _told(pages.leave), methods=["DELETE"]),
            Route(EVENTS_PATH, _told(pages.events), methods=["GET"]),
            Route(f"{CALL_PATH}/{{action}}", _told(pages.call), methods=["POST"]),
        ),
        open_paths=frozenset({PAGE_PATH, SESSION_PATH}),
        vouches=pages.vouches,
        connections=MOST_STREAMS,
    )


class Pages:
    """Answers the requests of a browser."""

    def __init__(self, overview: Overview, session: PageSession) -> None:
        self._overview = overview
        self._session = session
        changing = changing_actions(overview.control) if overview.control.editable else []
        self._actions = {action.name: action for action in (*reading_actions(overview), *changing)}
        self._html = built_page("browser.html")
        self._policy = content_policy(self._html)
        self._news = News(overview)

    def vouches(self, scope: Scope) -> bool:
        """Whether a request may do without the token: only for the pages, and with a good cookie."""
        ours = scope["type"] == "http" and scope["path"].startswith("/ui/")
        return ours and self._session.vouches(scope)

    async def page(self, _request: Request) -> Response:
        """Answer `GET /`: the same for everybody, without a word about any skill."""
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
        """Answer whether a browser is let in, and what it has to send along with each call."""
        _must_be_same_origin(request)
        if not self._session.open and not self._session.vouches(request.scope):
            return json_response({"open": False}, headers=_NO_STORE)
        leave = not self._session.open
        return json_response({"open": True, "csrf": self._session.csrf, "canLeave": leave}, headers=_NO_STORE)

    async def enter(self, request: Request) -> Response:
        """Take the token, once, and answer with a cookie that stands for it."""
        _must_be_same_origin(request)
        match await read_json(request, _MAX_BODY):
            case {"token": str(token)} if self._session.knows(token.strip()):
                cookie = self._session.cookie(secure=request.url.scheme == "https")
                return json_response({"open": True}, headers={"set-cookie": cookie, **_NO_STORE})
            case _:
                raise HttpError(401, "that is not the token")

    async def leave(self, request: Request) -> Response:
        """Have the browser forget the cookie."""
        _must_be_same_origin(request)
        cookie = self._session.no_cookie(secure=request.url.scheme == "https")
        return json_response({"open": False}, headers={"set-cookie": cookie, **_NO_STORE})

    async def call(self, request: Request) -> Response:
        """Do what a page asks for."""
        _must_be_same_origin(request)
        if not self._session.has_csrf(request.headers):
            raise HttpError(403, "this call does not come from a page of this server; load the page again")
        action = self._actions.get(request.path_params["action"])
        if action is None:
            raise HttpError(404, "there is no such action; changes need a server with `--allow-config`")
        arguments = await read_json(request, _MAX_BODY)
        if not isinstance(arguments, dict):
            raise HttpError(400, "the arguments are not a JSON object")
        call = Call(cast("dict[str, object]", arguments))
        return json_response(await action.run(call), headers=_NO_STORE)

    async def events(self, request: Request) -> Response:
        """Answer with a stream that says when something else is to be shown."""
        _must_be_same_origin(request)
        if self._news.full:
            raise HttpError(503, "too many pages are open")
        return self._news.stream()


def content_policy(html: str) -> str:
    """Return the policy that lets a page run what stands in it, and talk to its own origin, and no more."""
    scripts, styles = (_hashes(html, tag) for tag in ("script", "style"))
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {scripts}",
            f"style-src {styles}",
            "connect-src 'self'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types dompurify",
        )
    )


def _hashes(html: str, tag: str) -> str:
    found = re.findall(rf"<{tag}\b[^>]*>(.*?)</{tag}>", html, re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in found)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"


def _must_be_same_origin(request: Request) -> None:
    if not is_same_origin(request.headers):
        raise HttpError(403, "only pages of this server may ask for this")


def _told(handler: _Handler) -> _Handler:
    """Return `handler` with its errors as answers."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except HttpError as error:
            return _refused(error.status, str(error))
        except UsageError as error:
            return _refused(409, str(error), error.hint)
        except RequestError as error:
            return _refused(404 if isinstance(error, NotServedError) else 400, str(error))
        except SkillwireError as error:
            return _refused(500, str(error))

    return answer


def _refused(status: int, message: str, hint: str = "") -> Response:
    return json_response({"error": message, "hint": hint}, status, _NO_STORE)
