"""A server of skills that requires a login, and its login server: two ports of one process.

Run it as `python -m tests.support.login_server FOLDER`. It prints the addresses of both. The login server is
the SDK's, with a page that agrees at once. `GET /seen` reports the requests that both got. `POST /control`
changes their answers. `GET /held` waits until a request is held back, and `POST /release` lets it go on.
"""

import json
import secrets
import socket
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import build_metadata, create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from skillwire import FolderSource, Library
from skillwire.server import skills_server


class LoginServer(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Clients, codes and tokens in memory. Each refresh token can be used once."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.seen: Counter[str] = Counter()
        self.tokens_at: dict[str, list[str]] = {"server": [], "login": []}
        """The bearer tokens that each of the two was sent."""
        self.said: dict[str, Any] = {}
        """What is changed: `iss`, `expires_in`, `deny`, `metadata`, `answers`, `hold`, `no_refresh`."""
        self.held, self.released = anyio.Event(), anyio.Event()

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.seen["registered"] += 1
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.seen["authorized"] += 1
        back = str(params.redirect_uri)
        iss = {"iss": self.said["iss"]} if "iss" in self.said else {}
        if self.said.get("deny"):
            about = "the person said no"
            return construct_redirect_uri(
                back, error="access_denied", error_description=about, state=params.state, **iss
            )
        code = AuthorizationCode(
            code=secrets.token_hex(16),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(back, code=code.code, state=params.state, **iss)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        self.seen["exchanged"] += 1
        del self.codes[authorization_code.code]
        return self._issued(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        self.seen["refreshes"] += 1
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.seen["refreshed"] += 1
        self.refresh.pop(refresh_token.token, None)
        return self._issued(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def verify_token(self, token: str) -> AccessToken | None:
        known = self.access.get(token)
        return None if known is None or (known.expires_at or 0) < time.time() else known

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.seen["revoked"] += 1
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    async def exchange_identity_assertion(self, client: Any, params: Any) -> OAuthToken:
        raise NotImplementedError

    def _issued(self, client: str, scopes: list[str], resource: str | None) -> OAuthToken:
        lasts = int(self.said.get("expires_in", 3600))
        access, refresh = f"access-{secrets.token_hex(16)}", f"refresh-{secrets.token_hex(16)}"
        until = int(time.time()) + max(lasts, 1)
        self.access[access] = AccessToken(
            token=access, client_id=client, scopes=scopes, expires_at=until, resource=resource
        )
        if not self.said.get("no_refresh"):
            self.refresh[refresh] = RefreshToken(
                token=refresh, client_id=client, scopes=scopes, resource=resource
            )
        return OAuthToken(
            access_token=access,
            expires_in=lasts,
            scope=" ".join(scopes),
            refresh_token=None if self.said.get("no_refresh") else refresh,
        )


class _RecordingApp:
    """Records the bearer tokens that come, and answers as `control` said."""

    def __init__(self, app: ASGIApp, login: LoginServer, who: str) -> None:
        self._app, self._login, self._who = app, login, who

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            for name, value in scope["headers"]:
                if name == b"authorization" and value.startswith(b"Bearer "):
                    self._login.tokens_at[self._who].append(value[7:].decode())
            if f"{self._who} {scope['path']}" in self._login.said.get("hold", ()):
                released = self._login.released
                self._login.held.set()
                await released.wait()
            said = self._login.said.get("answers", {}).get(f"{self._who} {scope['path']}")
            if said is not None:
                await JSONResponse(said["body"], said["status"], said.get("headers"))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def login_app(login: LoginServer, issuer: str) -> ASGIApp:
    registering = ClientRegistrationOptions(
        enabled=True, valid_scopes=["read", "write"], default_scopes=["read"]
    )
    revoking = RevocationOptions(enabled=True)
    metadata = build_metadata(AnyHttpUrl(issuer), None, registering, revoking)

    async def described(_request: Request) -> JSONResponse:
        known = json.loads(metadata.model_dump_json(exclude_none=True)) | {"issuer": issuer}
        known |= login.said.get("metadata", {})
        return JSONResponse({key: value for key, value in known.items() if value is not None})

    async def seen(_request: Request) -> JSONResponse:
        return JSONResponse({"counts": login.seen, "tokens_at": login.tokens_at})

    async def control(request: Request) -> JSONResponse:
        login.said = await request.json()
        if login.said.pop("forget_access", False):
            login.access.clear()
        if login.said.pop("forget_refresh", False):
            login.refresh.clear()
        login.released.set()
        login.held, login.released = anyio.Event(), anyio.Event()
        login.seen.clear()
        for tokens in login.tokens_at.values():
            tokens.clear()
        return JSONResponse({})

    async def held(_request: Request) -> JSONResponse:
        await login.held.wait()
        return JSONResponse({})

    async def release(_request: Request) -> JSONResponse:
        login.released.set()
        return JSONResponse({})

    routes = [
        Route("/held", held),
        Route("/release", release, methods=["POST"]),
        Route("/.well-known/oauth-authorization-server", described),
        *create_auth_routes(login, AnyHttpUrl(issuer), None, registering, revoking),
        Route("/seen", seen),
        Route("/control", control, methods=["POST"]),
    ]
    return _RecordingApp(Starlette(routes=routes), login, "login")


def resource_app(login: LoginServer, library: Library, issuer: str, resource: str) -> ASGIApp:
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(issuer),
        resource_server_url=AnyHttpUrl(resource),
        required_scopes=["read"],
        validate_token_resource=True,
    )
    app = skills_server(library).streamable_http_app(json_response=True, auth=settings, token_verifier=login)
    return _RecordingApp(app, login, "server")


async def main(folder: str) -> None:
    library = Library([FolderSource(Path(folder))])
    await library.load()
    login = LoginServer()
    ports = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    issuer, server = (f"http://127.0.0.1:{each.getsockname()[1]}" for each in ports)
    apps = [
        login_app(login, issuer),
        resource_app(login, library, issuer, f"{server}/mcp"),
    ]
    print(json.dumps({"issuer": issuer, "url": f"{server}/mcp"}), flush=True)  # noqa: T201 - for the test that started it
    async with anyio.create_task_group() as tasks:
        for app, port in zip(apps, ports, strict=True):
            serving = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="auto"))
            tasks.start_soon(serving.serve, [port])


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
