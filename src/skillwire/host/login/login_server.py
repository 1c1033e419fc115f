"""Send the requests of an OAuth login, only to allowed addresses. Renew and revoke tokens."""

import json
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager, suppress
from types import TracebackType
from typing import Any, Self, cast

import anyio
import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthTokenError
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import AnyUrl, ValidationError

from skillwire import __version__
from skillwire.core.http_body import BodyTooLargeError, read_response
from skillwire.errors import LoginError
from skillwire.host.connections.addresses import is_loopback, is_private_literal
from skillwire.host.connections.network import PublicTransport, counting_client, head_trace
from skillwire.host.connections.sdk_logging import silence_sdk_logging
from skillwire.host.connections.traffic import Traffic
from skillwire.host.store.login_record import (
    LoginExpiredError,
    LoginRecord,
    LoginServerError,
    Tokens,
    is_sendable,
)
from skillwire.safe_text import escape_invisible, quoted

_CONNECT = _READ = 15.0
"""Timeouts in seconds for connecting and for each chunk of a response."""
_REQUEST_SECONDS, _SECONDS = 20.0, 90.0
"""Seconds for one request, and for all requests of one login together."""
_MAX_BYTES = 256 * 1024
"""Maximum size of one response in bytes. A login server's metadata has a few kilobytes."""
_MAX_REQUESTS = 40
"""Maximum number of requests in one login, including redirects."""
_REFUSAL = "it is at a loopback address or in a private network, and the server that names it is not"
ALLOW_PRIVATE = "if you want that, add `--allow-private`"
_HEADERS = frozenset({"content-type", "location", "www-authenticate"})
"""The response headers that are used."""
_ERRORS = frozenset({200, 400, 401, 403})
"""Statuses of OAuth errors. Some login servers send errors with status 200."""
_FINAL = frozenset({"invalid_grant", "invalid_client", "unauthorized_client", "bad_refresh_token"})
"""Errors after which no renewal of the login can work (RFC 6749, section 5.2; the last is GitHub's).

The refresh token is invalid, the client is unknown, or the client may not renew. Other errors may be
temporary.
"""


class LoginFetcher:
    """Sends the requests to log in once, or to renew or revoke one login. Use it as a context manager.

    Unless `allow_private` is set, a public server cannot direct requests to a loopback address or a private
    network, by an address or by a name. Plain `http` is used only if both the server and the login server
    have loopback addresses.
    """

    def __init__(
        self, label: str, server: str, *, allow_private: bool = False, public_only: bool = False
    ) -> None:
        """Create a fetcher.

        `server` is the URL of the MCP server, given by the user or a configuration file. With `public_only`
        and without `allow_private`, that URL must also have a public address. Raises `LoginError`.
        """
        self._label = label
        self._server = httpx2.URL(server)
        self._public_only = public_only and not allow_private
        self._lifted = allow_private or (not public_only and is_private_literal(self._server.host))
        self._left, self._seconds = _MAX_REQUESTS, _SECONDS
        self._traffic = Traffic()
        self._stack = AsyncExitStack()
        self._clients: dict[bool, httpx2.AsyncClient] = {}
        self.check(self._server, "the server")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def check(self, url: httpx2.URL, what: str) -> None:
        """Raise `LoginError` if requests and the user's browser must not be sent to `url`.

        `what` names the recipient in the message.
        """
        shown = quoted(str(url.copy_with(query=None, fragment=None, userinfo=b"")))
        if url.scheme not in {"https", "http"} or not url.host or url.userinfo:
            raise LoginError(self._label, f"{what} is at {shown}, which is not a web address")
        if url.scheme == "http" and not (is_loopback(url.host) and is_loopback(self._server.host)):
            message = f"{what} is at {shown}: over plain `http`, others on the network could read the tokens"
            raise LoginError(self._label, message, "use its `https` address")
        if self._is_public_only(url) and is_private_literal(url.host):
            raise LoginError(self._label, f"{what} is at {shown}: {_REFUSAL}", ALLOW_PRIVATE)

    async def send(self, request: httpx2.Request, what: str = "the login server") -> httpx2.Response:
        """Send a request, and return the complete response. Redirects are not followed.

        Raises `LoginError` if the request is not allowed, and `LoginServerError` if there is no response or
        if it is too large or compressed.
        """
        self.check(request.url, what)
        self._left -= 1
        if self._left < 0:
            raise LoginError(self._label, f"the login takes more than {_MAX_REQUESTS} requests")
        request.headers.setdefault(
            "Accept", "application/json"
        )  # otherwise, some servers respond with form data
        request.headers["User-Agent"] = f"skillwire/{__version__}"
        request.headers["Accept-Encoding"] = "identity"
        request.extensions = {**request.extensions, "trace": head_trace(self._traffic)}
        request.extensions["timeout"] = httpx2.Timeout(_CONNECT, read=_READ).as_dict()
        where = quoted(f"{request.url.scheme}://{request.url.netloc.decode(errors='replace')}")
        began = anyio.current_time()
        try:
            with anyio.fail_after(min(_REQUEST_SECONDS, self._seconds)):
                return await self._fetch(request)
        except TimeoutError as error:
            raise LoginServerError(f"{what} at {where} does not answer in time") from error
        except (httpx2.HTTPError, httpx2.StreamError, OSError) as error:
            why = self._traffic.failure or escape_invisible(str(error) or type(error).__name__, 200)
            if _REFUSAL in why:
                raise LoginError(self._label, f"{what} is at {where}: {_REFUSAL}", ALLOW_PRIVATE) from error
            raise LoginServerError(f"{what} at {where} does not answer: {why}") from error
        finally:
            self._seconds = max(self._seconds - (anyio.current_time() - began), 0.0)

    async def _fetch(self, request: httpx2.Request) -> httpx2.Response:
        client = await self._client(public_only=self._is_public_only(request.url))
        response = await client.send(request, stream=True, follow_redirects=False)
        try:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise httpx2.StreamError("the answer is compressed, which was not requested")
            content = await read_response(response, _MAX_BYTES, decoded=False)
        except BodyTooLargeError as error:
            raise httpx2.StreamError(f"the answer has more than {_MAX_BYTES:,} bytes") from error
        finally:
            with suppress(Exception):
                await response.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name in _HEADERS]
        answer = httpx2.Response(response.status_code, headers=headers, content=content, request=request)
        answer.next_request = response.next_request
        return answer

    async def _client(self, *, public_only: bool) -> httpx2.AsyncClient:
        if public_only not in self._clients:
            transport = PublicTransport(_REFUSAL) if public_only else None
            self._clients[public_only] = await self._stack.enter_async_context(
                counting_client(transport=transport)
            )
        return self._clients[public_only]

    def _is_public_only(self, url: httpx2.URL) -> bool:
        if self._lifted:
            return False
        own = all(getattr(url, part) == getattr(self._server, part) for part in ("scheme", "host", "port"))
        return self._public_only or not own


async def renew(record: LoginRecord, server: str) -> LoginRecord:
    """Return a login with new tokens.

    Raises `LoginExpiredError` if a new login is needed. Raises `LoginServerError` or `LoginError` if the
    renewal failed for another reason.
    """
    tokens = record.tokens
    if tokens is None or not tokens.refresh:
        raise LoginExpiredError
    with silence_sdk_logging():
        async with LoginFetcher(record.label, server, allow_private=record.allow_private) as fetcher:
            with _reject_unusable_login():
                request = await _StoredClient.of(record, server).refresh_request()
            response = await fetcher.send(request)
    if response.status_code in _ERRORS and (error := error_code(response)):
        if error in _FINAL:
            raise LoginExpiredError
        raise LoginServerError(f"the login server says {quoted(error)}")
    if response.status_code != 200:
        raise LoginServerError(f"the login server answers with HTTP {response.status_code}")
    try:
        fresh = OAuthToken.model_validate_json(response.content)
    except ValidationError as error:
        raise LoginServerError("the answer of the login server cannot be used") from error
    if not is_usable(fresh):
        raise LoginServerError("the answer of the login server cannot be used")
    renewed = Tokens(fresh.access_token, fresh.refresh_token or tokens.refresh, tokens.client_secret)
    return record.renewed(renewed, fresh.expires_in, fresh.scope)


async def revoke(record: LoginRecord, server: str) -> bool:
    """Revoke the tokens at the login server (RFC 7009).

    Return False if the record has no tokens, or if the login server does not support revocation.

    Raises `LoginServerError` or `LoginError` if the login server did not confirm the revocation.
    """
    tokens = record.tokens
    if tokens is None or not record.revocation_endpoint:
        return False
    kinds = {"refresh_token": tokens.refresh, "access_token": tokens.access}
    with silence_sdk_logging():
        async with LoginFetcher(record.label, server, allow_private=record.allow_private) as fetcher:
            for kind, token in kinds.items():
                if token:
                    await _revoke(fetcher, record, server, {"token": token, "token_type_hint": kind})
    return True


async def _revoke(fetcher: LoginFetcher, record: LoginRecord, server: str, form: dict[str, str]) -> None:
    # Login servers made with the SDK refuse the request without `client_secret`, even for a client that has
    # none. An empty field means the same as none (RFC 6749, section 3.2).
    for more in ({}, {"client_secret": ""}):
        with _reject_unusable_login():
            request = _StoredClient.of(record, server).revocation_request(
                record.revocation_endpoint, form | more
            )
        response = await fetcher.send(request)
        if response.status_code == 200:
            return
        if response.status_code != 400:
            break
    raise LoginServerError(f"the login server answers with HTTP {response.status_code}")


@contextmanager
def _reject_unusable_login() -> Generator[None]:
    """Raise `LoginServerError` if no request can be made from a stored login."""
    try:
        yield
    except (ValueError, httpx2.InvalidURL, OAuthTokenError) as error:
        raise LoginServerError("the stored login cannot be used") from error


class MemoryTokenStorage:
    """The token storage that the SDK requires, in memory. `Logins` stores complete logins."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class _StoredClient(OAuthClientProvider):
    """The SDK's client, with the data of a stored login."""

    @classmethod
    def of(cls, record: LoginRecord, server: str) -> "_StoredClient":
        tokens = record.tokens
        assert tokens is not None
        stored = cls(
            server, OAuthClientMetadata(redirect_uris=[AnyUrl("http://127.0.0.1/")]), MemoryTokenStorage()
        )
        context = stored.context
        # Without metadata, the SDK would send the tokens to the server itself.
        context.oauth_metadata = OAuthMetadata.model_validate(
            {
                "issuer": record.issuer,
                "authorization_endpoint": record.token_endpoint,
                "token_endpoint": record.token_endpoint,
            }
        )
        context.protocol_version = LATEST_PROTOCOL_VERSION
        if record.resource:
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(
                {"resource": record.resource, "authorization_servers": [record.issuer]}
            )
        context.client_info = client_info(record.client_id, tokens.client_secret, record.auth_method)
        context.current_tokens = OAuthToken(access_token=tokens.access, refresh_token=tokens.refresh or None)
        return stored

    async def refresh_request(self) -> httpx2.Request:
        return await self._refresh_token()

    def revocation_request(self, endpoint: str, form: dict[str, str]) -> httpx2.Request:
        known = self.context.client_info
        assert known is not None
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        empty = {name: value for name, value in form.items() if not value}
        form, headers = self.context.prepare_token_auth({**form, "client_id": known.client_id}, headers)
        return httpx2.Request("POST", endpoint, data={**empty, **form}, headers=headers)


def client_info(name: str, secret: str, method: str = "") -> OAuthClientInformationFull:
    method = method or ("client_secret_post" if secret else "none")
    return OAuthClientInformationFull(
        client_id=name, client_secret=secret or None, token_endpoint_auth_method=method
    )


def is_usable(tokens: OAuthToken) -> bool:
    every = (tokens.access_token, tokens.refresh_token or "-")
    return all(token and is_sendable(token) for token in every)


def error_code(response: httpx2.Response) -> str:
    """Return the code of an OAuth error, or an empty string if the response contains none."""
    return _text_in(response, "error")


def issuer_in(response: httpx2.Response | None) -> str:
    """Return the issuer in a response with metadata, or an empty string if there is none."""
    return "" if response is None else _text_in(response, "issuer")


def _text_in(response: httpx2.Response, key: str) -> str:
    with suppress(ValueError, RecursionError):
        body: Any = json.loads(response.content)
        if isinstance(body, dict):
            value = cast("dict[str, object]", body).get(key)
            return value if isinstance(value, str) else ""
    return ""
