"""Every route of live skills, for the one HTTP application."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from skillwire.drive.hub import Hub
from skillwire.drive.identity import AUTH_PATH, Identities
from skillwire.drive.loop import LoopEndpoint
from skillwire.drive.loop_names import LOOP_PATH
from skillwire.drive.messages import PROTOCOL, PROTOCOL_RANGES, PROTOCOL_VERSION
from skillwire.drive.reads import SkillReads
from skillwire.drive.registration import RESERVED_IDS
from skillwire.drive.web import HeaderRule, HttpError, json_response
from skillwire.drive.websocket import SocketEndpoint

META_PATH = "/mdp/meta"
_Handler: TypeAlias = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class DriveRoutes:
    """The routes, and who may use them without the server's token in a header."""

    routes: tuple[BaseRoute, ...]
    identities: Identities


def drive_routes(hub: Hub, token: str | None = None, headers: HeaderRule | None = None) -> DriveRoutes:
    """Return the routes of `hub`. The last takes every WebSocket that is not on the path of another route.

    `headers` are those of a reader that programs get.
    """
    if token is not None:
        hub.withhold(token)
    identities = Identities(hub, token)
    loop, socket = LoopEndpoint(hub, identities), SocketEndpoint(hub, identities)
    reads = SkillReads(hub, identities, headers or HeaderRule())

    async def take_socket(websocket: WebSocket) -> None:
        if websocket.url.path.split("/")[1] in RESERVED_IDS:
            await websocket.send_denial_response(
                json_response({"error": "connect to `/`; this path is another route's"}, 404)
            )
        else:
            await socket(websocket)

    read_methods = ["GET", "OPTIONS"]  # HEAD comes with GET
    others = (AUTH_PATH, *(f"{LOOP_PATH}/{name}" for name in ("connect", "send", "poll", "disconnect")))
    return DriveRoutes(
        (
            Route(META_PATH, _told(_meta), methods=["GET"]),
            Route(AUTH_PATH, _told(identities.introduce), methods=["POST"]),
            Route(AUTH_PATH, _told(identities.forget), methods=["DELETE"]),
            Route(f"{LOOP_PATH}/connect", _told(loop.connect), methods=["POST"]),
            Route(f"{LOOP_PATH}/send", _told(loop.send), methods=["POST"]),
            Route(f"{LOOP_PATH}/poll", _told(loop.poll), methods=["GET"]),
            Route(f"{LOOP_PATH}/disconnect", _told(loop.disconnect), methods=["POST"]),
            *(Route(path, _options, methods=["OPTIONS"]) for path in others),
            Route("/skills/{client}", _told(reads.read), methods=read_methods),
            Route("/skills/{client}/{path:path}", _told(reads.read), methods=read_methods),
            Route("/{client}/skills", _told(reads.read), methods=read_methods),
            Route("/{client}/skills/{path:path}", _told(reads.read), methods=read_methods),
            WebSocketRoute("/{path:path}", take_socket),
        ),
        identities,
    )


def _told(handler: _Handler) -> _Handler:
    """Return `handler` with its errors as answers."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except HttpError as error:
            code = {} if error.code is None else {"code": error.code}
            return json_response({"error": str(error), **code}, error.status)

    return answer


async def _options(_request: Request) -> Response:
    """Answer `OPTIONS` of a program that is no page. Those of pages are answered by what checks origins."""
    return Response(status_code=204)


async def _meta(request: Request) -> Response:
    """Answer `GET /mdp/meta`: what this server speaks, and where."""
    authority, secure = request.url.netloc, request.url.scheme == "https"
    web = f"{'https' if secure else 'http'}://{authority}"
    return json_response(
        {
            "protocol": PROTOCOL,
            "protocolVersion": PROTOCOL_VERSION,
            "supportedProtocolRanges": PROTOCOL_RANGES,
            "serverId": authority,
            "endpoints": {
                "ws": f"{'wss' if secure else 'ws'}://{authority}",
                "httpLoop": f"{web}{LOOP_PATH}",
                "auth": f"{web}{AUTH_PATH}",
                "meta": f"{web}{META_PATH}",
            },
            "features": {"upstreamProxy": False, "clusterControl": False},
        }
    )
