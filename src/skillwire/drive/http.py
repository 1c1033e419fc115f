"""All HTTP routes of live skills, as one `HttpMount` for the server."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from skillwire.drive.endpoints import LoopEndpoint, SocketEndpoint
from skillwire.drive.headers import HeaderRule
from skillwire.drive.hub import Hub
from skillwire.drive.identity import AUTH_PATH, Identities
from skillwire.drive.live import LiveSkills
from skillwire.drive.messages import LOOP_PATH, PROTOCOL, PROTOCOL_RANGES, PROTOCOL_VERSION
from skillwire.drive.reads import ReadEndpoint
from skillwire.drive.registration import RESERVED_IDS
from skillwire.server.http.routes import HttpError, HttpMount, json_response

META_PATH = "/mdp/meta"
_Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
_CONNECTIONS_EACH = 2
"""Maximum number of connections for each client.

On the HTTP loop, one connection waits for messages and another sends them.
"""


@dataclass(frozen=True, slots=True)
class DriveRoutes:
    """The routes, and the `Identities` object that authorizes requests without the token in a header."""

    routes: tuple[BaseRoute, ...]
    identities: Identities


def drive_routes(hub: Hub, token: str | None = None, headers: HeaderRule | None = None) -> DriveRoutes:
    """Return the routes for `hub`, which from now on treats `token` as a secret.

    The last route takes the WebSockets of programs at any path, except paths that begin with the name of
    another route. `headers` selects the headers of a reader's request that are forwarded to programs.
    """
    if token is not None:
        hub.redact(token)
    identities = Identities(hub, token)
    loop, socket = LoopEndpoint(hub, identities), SocketEndpoint(hub, identities)
    reads = ReadEndpoint(hub, identities, headers or HeaderRule())

    async def take_socket(websocket: WebSocket) -> None:
        if websocket.url.path.split("/")[1] in RESERVED_IDS:
            await websocket.send_denial_response(
                json_response({"error": "connect to `/`; this path belongs to another route"}, 404)
            )
        else:
            await socket(websocket)

    read_methods = ["GET", "OPTIONS"]  # a GET route also accepts HEAD
    others = (AUTH_PATH, *(f"{LOOP_PATH}/{name}" for name in ("connect", "send", "poll", "disconnect")))
    return DriveRoutes(
        (
            Route(META_PATH, _errors_as_responses(_meta), methods=["GET"]),
            Route(AUTH_PATH, _errors_as_responses(identities.issue_ticket), methods=["POST"]),
            Route(AUTH_PATH, _errors_as_responses(identities.forget), methods=["DELETE"]),
            Route(f"{LOOP_PATH}/connect", _errors_as_responses(loop.connect), methods=["POST"]),
            Route(f"{LOOP_PATH}/send", _errors_as_responses(loop.send), methods=["POST"]),
            Route(f"{LOOP_PATH}/poll", _errors_as_responses(loop.poll), methods=["GET"]),
            Route(f"{LOOP_PATH}/disconnect", _errors_as_responses(loop.disconnect), methods=["POST"]),
            *(Route(path, _options, methods=["OPTIONS"]) for path in others),
            Route("/skills/{client}", _errors_as_responses(reads.read), methods=read_methods),
            Route("/skills/{client}/{path:path}", _errors_as_responses(reads.read), methods=read_methods),
            Route("/{client}/skills", _errors_as_responses(reads.read), methods=read_methods),
            Route("/{client}/skills/{path:path}", _errors_as_responses(reads.read), methods=read_methods),
            WebSocketRoute("/{path:path}", take_socket),
        ),
        identities,
    )


def _errors_as_responses(handler: _Handler) -> _Handler:
    """Wrap `handler` so that each `HttpError` becomes a JSON response."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except HttpError as error:
            code = {} if error.code is None else {"code": error.code}
            return json_response({"error": str(error), **code}, error.status)

    return answer


async def _options(_request: Request) -> Response:
    """Answer `OPTIONS` requests. `CORSMiddleware` already answers the preflight requests of web pages."""
    return Response(status_code=204)


async def _meta(request: Request) -> Response:
    """Handle `GET /mdp/meta`: return the protocol version, endpoints and features of this server."""
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


def drive_mount(live: LiveSkills, token: str | None = None) -> HttpMount:
    """Return the routes and background tasks of live skills, for `http_app`.

    `token` is the server's token. If it is None, any program may connect.
    """
    hub = live.hub
    drive = drive_routes(hub, token, live.headers)
    return HttpMount(
        drive.routes,
        open_paths=frozenset({AUTH_PATH}),
        is_authorized=drive.identities.is_authorized,
        credentials=True,
        connections=_CONNECTIONS_EACH * hub.limits.sessions,
        message_bytes=hub.limits.body,
        running=live.running,
        close=hub.close,
    )
