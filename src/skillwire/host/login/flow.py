"""A login by OAuth, through the SDK's client.

The SDK knows the protocol: discovery (RFC 9728, RFC 8414), registration (RFC 7591), PKCE, resource indicators
(RFC 8707), issuers (RFC 9207). Its requests are sent by `LoginFetcher`, which decides where they may lead.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.utils import (
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    issuers_match,
    union_scopes,
)
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata, OAuthMetadata
from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import AnyUrl

from skillwire.host.login.errors import LoginError, UnansweredError
from skillwire.host.login.fetching import LoginFetcher
from skillwire.host.login.record import LoginRecord, Tokens, expiry
from skillwire.host.login.renewing import Memory, client_info, error_code, is_usable, issuer_in
from skillwire.host.reaching.quiet import quiet
from skillwire.host.reaching.target import Target, without_query
from skillwire.model.display import quoted
from skillwire.model.errors import UsageError

CLIENT_NAME = "Skillwire"
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
"""One scope, as RFC 6749 spells it."""
_MOST_SCOPES = 100
_CHALLENGED, _FORBIDDEN = 401, 403
_PROBE = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """A page that a person has to open to log in."""

    label: str
    server: str
    """Where the server is, without secrets."""
    issuer: str
    """Who asks the person. It may be on another site than the server."""
    url: str
    """The page: `https`, or this machine."""
    redirect_uri: str
    """Where the browser is sent afterwards."""
    scope: str
    state: str = field(repr=False)
    """What the address that the browser is sent to must repeat."""


class LoginHandler(Protocol):
    """Shows a person the page of a login, and knows where their browser was sent afterwards."""

    @property
    def redirect_uri(self) -> str:
        """Where the browser is to be sent."""
        ...

    async def __call__(self, request: LoginRequest) -> str:
        """Return the whole address that the browser was sent to, with its query."""
        ...


@dataclass(frozen=True, slots=True)
class KnownClient:
    """A client that the login server knows already. Without one, it is asked to register a new one."""

    id: str
    secret: str = field(default="", repr=False)


def checked_scopes(scopes: Iterable[str]) -> str:
    """Return scopes as one text. Raises `UsageError` if one is none."""
    every = [scope for each in scopes for scope in each.split()]
    if wrong := next((scope for scope in every if not _SCOPE.fullmatch(scope)), None):
        raise UsageError(f"{quoted(wrong)} is no scope", hint="scopes are separated by spaces")
    if len(every) > _MOST_SCOPES:
        raise UsageError(f"{len(every)} scopes are too many", hint=f"at most {_MOST_SCOPES} can be asked for")
    return " ".join(dict.fromkeys(every))


async def log_in(
    target: Target,
    handler: LoginHandler,
    *,
    scope: str = "",
    client: KnownClient | None = None,
    allow_private: bool = False,
) -> LoginRecord:
    """Log a person in to a server, and return what is to be kept of it. Raises `LoginError`.

    `scope` is asked for beside what the server asks for. With `allow_private`, the login server may be on
    this machine or in a private network even if the server is not.
    """
    if target.url is None:
        raise LoginError(target.label, "it is started by a command", "it gets your environment variables")
    with quiet():
        async with LoginFetcher(target.label, target.url, allow_private=allow_private) as fetcher:
            return await _Login(target, target.url, handler, fetcher, client).run(scope, allow_private)


class _Provider(OAuthClientProvider):
    """The SDK's client, for which a root issuer is the same with and without a slash at its end.

    Many servers name their login server with one, and the login server names itself without.
    """

    spelled = ""

    def _select_authorization_server(self, advertised: list[str]) -> str:
        return self.spelled or super()._select_authorization_server(advertised)

    def spell_as(self, response: httpx2.Response | None) -> bool:
        """Take the issuer as it spells itself in its metadata; return whether that may help."""
        issuer, expected = issuer_in(response), self.context.auth_server_url or ""
        if self.spelled or issuer == expected or not issuers_match(issuer, expected):
            return False
        self.spelled = issuer
        return True


class _Login:
    """One login, being made."""

    def __init__(
        self,
        target: Target,
        server: str,
        handler: LoginHandler,
        fetcher: LoginFetcher,
        client: KnownClient | None,
    ) -> None:
        self._target, self._server, self._handler, self._fetcher = target, server, handler, fetcher
        self._given = client is not None
        self._request: LoginRequest | None = None
        self._last: httpx2.Response | None = None
        memory = Memory()
        if client is not None:
            memory.client = client_info(client.id, client.secret)
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(handler.redirect_uri)],
            client_name=CLIENT_NAME,
        )
        self._provider = _Provider(server, metadata, memory, self._show, self._come_back)

    async def run(self, scope: str, allow_private: bool) -> LoginRecord:  # noqa: FBT001 - of one caller
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": LATEST_PROTOCOL_VERSION,
        }
        request = httpx2.Request("POST", self._server, json=_PROBE, headers=headers)
        try:
            challenge = _challenge(request, await self._fetcher.send(request, "the server"), scope)
            try:
                await self._drive(request, challenge)
            except OAuthFlowError:
                if not self._provider.spell_as(self._last):
                    raise
                await self._drive(request, challenge)
        except UnansweredError as error:
            raise self._failed(str(error)) from error
        except (OAuthRegistrationError, OAuthTokenError) as error:
            # What they say repeats whole answers, and so perhaps secrets.
            raise self._failed(_refused(self._last)) from error
        except OAuthFlowError as error:
            raise self._failed(quoted(str(error), 300)) from error
        except (ValueError, httpx2.InvalidURL) as error:  # of parsers: an address that is none, for instance
            raise self._failed("what the server or the login server says cannot be used") from error
        return self._record(allow_private=allow_private)

    async def _drive(self, request: httpx2.Request, challenge: httpx2.Response) -> None:
        """Send what the SDK wants sent, until it would repeat the first request with a token."""
        flow = self._provider.async_auth_flow(request)
        try:
            await anext(flow)
            outgoing = await flow.asend(challenge)
            while outgoing is not request:
                if outgoing.method == "POST":
                    self._must_be_sound()
                self._last = await self._fetcher.send(outgoing)
                outgoing = await flow.asend(self._last)
        finally:
            await flow.aclose()

    def _must_be_sound(self) -> OAuthMetadata:
        """Raise `LoginError` if the login server does not say what it must, before it is told anything."""
        known = self._provider.context.oauth_metadata
        if known is None:
            hint = "if it has given you a token, name its variable with `--token-env`"
            raise self._failed("the server does not say where to log in (it has no OAuth metadata)", hint)
        if "S256" not in (known.code_challenge_methods_supported or ()):
            raise self._failed("the login server does not say that it supports PKCE with `S256`")
        self._fetcher.check(httpx2.URL(str(known.authorization_endpoint)), "the login page")
        if known.registration_endpoint is None and not self._given:
            hint = "register one with the provider, and name it with `--client-id`"
            raise self._failed("the login server registers no clients by itself", hint)
        return known

    async def _show(self, url: str) -> None:
        """Take note of the page. Nothing is shown before it is known to be sound."""
        known = self._must_be_sound()
        endpoint, _, asked = url.rpartition("?")
        if "?" in endpoint:  # the page had a query of its own
            url = f"{endpoint}&{asked}"
        if not url.isascii() or not url.isprintable():
            raise self._failed("the address of the login page holds characters that no address has")
        context = self._provider.context
        self._request = LoginRequest(
            self._target.label,
            self._target.place,
            str(known.issuer),
            url,
            self._handler.redirect_uri,
            context.client_metadata.scope or "",
            parse_qs(asked)["state"][0],
        )

    async def _come_back(self) -> AuthorizationCodeResult:
        """Return what the address says that the browser was sent to."""
        request = self._request
        assert request is not None
        back = await self._handler(request)
        said = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
        if said.get("state") != request.state:
            raise self._failed("the answer does not belong to this login: its `state` is another")
        if error := said.get("error"):
            why = f": {quoted(about)}" if (about := said.get("error_description", "")) else ""
            raise self._failed(f"the login server says {quoted(error)}{why}")
        return AuthorizationCodeResult(
            code=said.get("code", ""), state=said.get("state"), iss=said.get("iss")
        )

    def _record(self, *, allow_private: bool) -> LoginRecord:
        context = self._provider.context
        known, client, tokens = context.oauth_metadata, context.client_info, context.current_tokens
        if known is None or client is None or tokens is None or not is_usable(tokens):
            raise self._failed("the token that came cannot be sent")
        return LoginRecord(
            label=self._target.label,
            identity=self._target.identity,
            server=without_query(self._server),
            issuer=str(known.issuer),
            client_id=client.client_id,
            auth_method=client.token_endpoint_auth_method or "none",
            token_endpoint=str(known.token_endpoint),
            revocation_endpoint=str(known.revocation_endpoint or ""),
            resource=context.get_resource_url(),
            scope=tokens.scope or "",
            expires_at=expiry(tokens.expires_in),
            allow_private=allow_private,
            renewable=bool(tokens.refresh_token),
            tokens=Tokens(tokens.access_token, tokens.refresh_token or "", client.client_secret or ""),
        )

    def _failed(self, told: str, hint: str = "") -> LoginError:
        return LoginError(self._target.label, told, hint)


def _challenge(request: httpx2.Request, response: httpx2.Response, scope: str) -> httpx2.Response:
    """Return the answer that makes the SDK begin. A person may log in before the server demands it."""
    parts = ["error=invalid_token"]
    if response.status_code in {_CHALLENGED, _FORBIDDEN}:
        if where := extract_resource_metadata_from_www_auth(response):
            parts.append(f'resource_metadata="{where}"')
        wanted = union_scopes(extract_scope_from_www_auth(response), scope)
    else:
        wanted = scope
    if wanted:
        parts.append(f'scope="{wanted}"')
    headers = {"WWW-Authenticate": f"Bearer {', '.join(parts)}"}
    return httpx2.Response(_CHALLENGED, headers=headers, request=request)


def _refused(response: httpx2.Response | None) -> str:
    if response is None or response.status_code < 300:
        return "the answer of the login server cannot be used"
    code = f" ({quoted(said)})" if (said := error_code(response)) else ""
    return f"the login server answers with HTTP {response.status_code}{code}"
