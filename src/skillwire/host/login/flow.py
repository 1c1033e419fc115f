"""Log in with OAuth, using the SDK's client.

The SDK implements the protocol: discovery (RFC 9728, RFC 8414), registration (RFC 7591), PKCE (RFC 7636),
resource indicators (RFC 8707) and issuer identification (RFC 9207). `LoginFetcher` sends the SDK's requests,
and decides which addresses they may reach.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.utils import (
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    issuers_match,
    union_scopes,
    validate_authorization_response_iss,
)
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata, OAuthMetadata
from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import AnyUrl

from skillwire.errors import LoginError, UsageError
from skillwire.host.connections.sdk_logging import silence_sdk_logging
from skillwire.host.connections.target import Target, without_query
from skillwire.host.login.login_server import (
    LoginFetcher,
    MemoryTokenStorage,
    client_info,
    error_code,
    is_usable,
    issuer_in,
)
from skillwire.host.store.login_record import (
    MAX_RECORD,
    BrokenRecordError,
    LoginRecord,
    LoginServerError,
    Tokens,
    expiry,
)
from skillwire.safe_text import quoted

CLIENT_NAME = "Skillwire"
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
"""One scope, in the syntax of RFC 6749."""
_MAX_SCOPES = 100
_CHALLENGED, _FORBIDDEN = 401, 403
_PROBE = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@dataclass(frozen=True, slots=True)
class LoginRequest:
    """A login page for the user to open."""

    label: str
    server: str
    """The URL of the server, without secrets."""
    issuer: str
    """The login server. It may be on a different site than the MCP server."""
    url: str
    """The URL of the login page. It uses `https`, or has a loopback address."""
    redirect_uri: str
    """The URI to which the login page redirects the browser."""
    scope: str
    sites: tuple[str, ...] = ()
    """The hosts of the login page and token endpoint that differ from the issuer's host."""
    state: str = field(default="", repr=False)
    """The value that the redirect must repeat."""


class LoginHandler(Protocol):
    """Shows the user a login page, and returns the URL to which the browser is redirected."""

    @property
    def redirect_uri(self) -> str:
        """The URI to which the login page redirects the browser."""
        ...

    async def __call__(self, request: LoginRequest) -> str:
        """Return the URL to which the browser was redirected, including its query."""
        ...


@dataclass(frozen=True, slots=True)
class KnownClient:
    """An OAuth client that is already registered."""

    id: str
    secret: str = field(default="", repr=False)


def checked_scopes(scopes: Iterable[str]) -> str:
    """Join scopes into one string without duplicates.

    Raises `UsageError` if a scope is invalid, or if there are too many.
    """
    every = [scope for each in scopes for scope in each.split()]
    if wrong := next((scope for scope in every if not _SCOPE.fullmatch(scope)), None):
        raise UsageError(f"{quoted(wrong)} is not a scope", hint="separate scopes by spaces")
    if len(every) > _MAX_SCOPES:
        raise UsageError(f"{len(every)} scopes are too many", hint=f"the limit is {_MAX_SCOPES}")
    return " ".join(dict.fromkeys(every))


async def log_in(
    target: Target,
    handler: LoginHandler,
    *,
    scope: str = "",
    client: KnownClient | None = None,
    allow_private: bool = False,
) -> LoginRecord:
    """Log the user in to a server, and return the login, which is not stored yet. Raises `LoginError`.

    `scope` is requested in addition to the scopes that the server names when it refuses a request. `client`
    is used instead of registering a new client. With `allow_private`, a public server may name a login server
    at a loopback address or in a private network.
    """
    if target.url is None:
        raise LoginError(target.label, "it is started by a command", "it gets your environment variables")
    with silence_sdk_logging():
        async with LoginFetcher(
            target.label, target.url, allow_private=allow_private, public_only=target.public_only
        ) as fetcher:
            record = await _Login(target, target.url, handler, fetcher, client).run(scope)
    return replace(record, allow_private=allow_private)


class _Provider(OAuthClientProvider):
    """The SDK's client. It also accepts an issuer that differs from the metadata by a trailing slash.

    Many servers name their login server with a trailing slash, but the login server's own metadata omits it.
    """

    adopted_issuer = ""

    def _select_authorization_server(self, advertised: list[str]) -> str:
        return self.adopted_issuer or super()._select_authorization_server(advertised)

    def adopt_issuer(self, response: httpx2.Response | None) -> bool:
        """Use the issuer as written in the login server's metadata. Return whether it changed."""
        issuer, expected = issuer_in(response), self.context.auth_server_url or ""
        if self.adopted_issuer or issuer == expected or not issuers_match(issuer, expected):
            return False
        self.adopted_issuer = issuer
        return True


class _Login:
    """A login in progress."""

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
        memory = MemoryTokenStorage()
        if client is not None:
            memory.client = client_info(client.id, client.secret)
        metadata = OAuthClientMetadata(
            redirect_uris=[AnyUrl(handler.redirect_uri)],
            client_name=CLIENT_NAME,
        )
        # The login server sees this URL as the resource. The query is omitted, because it may contain
        # secrets.
        resource = without_query(server)
        self._provider = _Provider(resource, metadata, memory, self._show, self._wait_for_redirect)

    async def run(self, scope: str) -> LoginRecord:
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": LATEST_PROTOCOL_VERSION,
        }
        request = httpx2.Request("POST", self._server, json=_PROBE, headers=headers)
        try:
            challenge = _challenge(request, await self._fetcher.send(request, "the server"), scope)
            try:
                await self._run_flow(request, challenge)
            except OAuthFlowError:
                if not self._provider.adopt_issuer(self._last):
                    raise
                await self._run_flow(request, challenge)
        except LoginServerError as error:
            raise self._login_error(str(error)) from error
        except (OAuthRegistrationError, OAuthTokenError) as error:
            # The messages of these exceptions repeat whole responses, which may contain secrets.
            raise self._login_error(_refusal_reason(self._last)) from error
        except OAuthFlowError as error:
            raise self._login_error(quoted(str(error), 300)) from error
        except (ValueError, httpx2.InvalidURL) as error:  # raised by parsers, for instance for a URL
            raise self._login_error(
                "an answer of the server or of the login server cannot be used"
            ) from error
        return self._record()

    async def _run_flow(self, request: httpx2.Request, challenge: httpx2.Response) -> None:
        """Send the SDK's requests until the SDK would repeat the first request with a token."""
        flow = self._provider.async_auth_flow(request)
        try:
            await anext(flow)
            outgoing = await flow.asend(challenge)
            while outgoing is not request:
                if outgoing.method == "POST":
                    self._checked_metadata()
                self._last = await self._fetcher.send(outgoing)
                outgoing = await flow.asend(self._last)
        finally:
            await flow.aclose()

    def _checked_metadata(self) -> OAuthMetadata:
        """Return the login server's metadata.

        Raises `LoginError` if it is missing or unsuitable, so that nothing is sent to that login server.
        """
        known = self._provider.context.oauth_metadata
        if known is None:
            hint = "if you have a token, pass its variable to other commands with `--token-env`"
            raise self._login_error(
                "the server does not say where to log in (it has no OAuth metadata)", hint
            )
        if "S256" not in (known.code_challenge_methods_supported or ()):
            raise self._login_error("the login server does not say that it supports PKCE with `S256`")
        page = httpx2.URL(str(known.authorization_endpoint))
        self._fetcher.check(page, "the login page")
        if page.fragment:
            raise self._login_error("the URL of the login page has a fragment, which OAuth forbids")
        if known.registration_endpoint is None and not self._given:
            hint = "register one with the provider, and name it with `--client-id`"
            raise self._login_error("the login server does not let programs register a client", hint)
        return known

    async def _show(self, url: str) -> None:
        """Check the metadata, then prepare the login request for the handler."""
        known = self._checked_metadata()
        context = self._provider.context
        if self._given and context.client_info is not None and context.client_info.client_secret:
            context.client_info.token_endpoint_auth_method = _secret_method(known)
        endpoint, _, query = url.rpartition("?")
        if "?" in endpoint:  # the endpoint already has a query
            url = f"{endpoint}&{query}"
        if not url.isascii() or not url.isprintable():
            raise self._login_error("the URL of the login page contains invalid characters")
        self._request = LoginRequest(
            self._target.label,
            self._target.place,
            str(known.issuer),
            url,
            self._handler.redirect_uri,
            context.client_metadata.scope or "",
            _other_sites(known),
            parse_qs(query)["state"][0],
        )

    async def _wait_for_redirect(self) -> AuthorizationCodeResult:
        """Call the handler, and return the authorization code in the redirect.

        Raises `LoginError` or `OAuthFlowError`.
        """
        request = self._request
        assert request is not None
        redirect = await self._handler(request)
        fields = {name: values[0] for name, values in parse_qs(urlsplit(redirect).query).items()}
        if fields.get("state") != request.state:
            raise self._login_error("the answer does not belong to this login: its `state` differs")
        # Check the issuer before any text from the response is shown (RFC 9207).
        validate_authorization_response_iss(fields.get("iss"), self._provider.context.oauth_metadata)
        if error := fields.get("error"):
            why = f": {quoted(about)}" if (about := fields.get("error_description", "")) else ""
            raise self._login_error(f"the login server says {quoted(error)}{why}")
        return AuthorizationCodeResult(
            code=fields.get("code", ""), state=fields.get("state"), iss=fields.get("iss")
        )

    def _record(self) -> LoginRecord:
        context = self._provider.context
        known, client, tokens = context.oauth_metadata, context.client_info, context.current_tokens
        if known is None or client is None or tokens is None or not is_usable(tokens):
            raise self._login_error("the login server issued a token that cannot be sent")
        record = LoginRecord(
            label=self._target.login_label,
            identity=self._target.login_identity,
            server=without_query(self._server),
            issuer=str(known.issuer),
            client_id=client.client_id,
            auth_method=client.token_endpoint_auth_method or "none",
            token_endpoint=str(known.token_endpoint),
            revocation_endpoint=str(known.revocation_endpoint or ""),
            resource=context.get_resource_url(),
            scope=tokens.scope or "",
            expires_at=expiry(tokens.expires_in),
            renewable=bool(tokens.refresh_token),
            tokens=Tokens(tokens.access_token, tokens.refresh_token or "", client.client_secret or ""),
        )
        content = record.to_bytes(with_tokens=True)
        try:
            LoginRecord.from_bytes(content)  # do not store a record that could not be read back
        except BrokenRecordError as error:
            raise self._login_error(f"the answers of the login server cannot be stored: {error}") from error
        if len(content) > MAX_RECORD:
            raise self._login_error("the answers of the login server are too long to be stored")
        return record

    def _login_error(self, message: str, hint: str = "") -> LoginError:
        return LoginError(self._target.label, message, hint)


def _challenge(request: httpx2.Request, response: httpx2.Response, scope: str) -> httpx2.Response:
    """Return a 401 response that makes the SDK start a login, even if the server has not required one yet."""
    parts = ["error=invalid_token"]
    if response.status_code in {_CHALLENGED, _FORBIDDEN}:
        if where := extract_resource_metadata_from_www_auth(response):
            parts.append(f'resource_metadata="{where}"')
        scopes = union_scopes(extract_scope_from_www_auth(response), scope)
    else:
        scopes = scope
    if scopes:
        parts.append(f'scope="{scopes}"')
    headers = {"WWW-Authenticate": f"Bearer {', '.join(parts)}"}
    return httpx2.Response(_CHALLENGED, headers=headers, request=request)


def _secret_method(known: OAuthMetadata) -> str:
    """Return the method by which a client with a secret authenticates.

    This is `client_secret_post` if the login server supports it, else `client_secret_basic`, the default
    (RFC 8414, section 2).
    """
    supported = known.token_endpoint_auth_methods_supported or ("client_secret_basic",)
    return "client_secret_post" if "client_secret_post" in supported else "client_secret_basic"


def _other_sites(known: OAuthMetadata) -> tuple[str, ...]:
    """Return the hosts of the login page and token endpoint that differ from the issuer's host."""
    issuer, *others = (
        httpx2.URL(str(each)).netloc.decode()
        for each in (known.issuer, known.authorization_endpoint, known.token_endpoint)
    )
    return tuple(dict.fromkeys(each for each in others if each != issuer))


def _refusal_reason(response: httpx2.Response | None) -> str:
    if response is None or response.status_code < 300:
        return "the answer of the login server cannot be used"
    code = f" ({quoted(error)})" if (error := error_code(response)) else ""
    return f"the login server answers with HTTP {response.status_code}{code}"
