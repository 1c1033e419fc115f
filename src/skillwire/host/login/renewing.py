"""Requests to a login server that need no person: renew tokens, revoke them."""

import json
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, cast

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

from skillwire.host.login.fetching import LoginFetcher
from skillwire.host.login.record import LoginExpiredError, LoginRecord, LoginServerError, Tokens, is_sendable
from skillwire.host.reaching.quiet import quiet
from skillwire.model.display import quoted

_ERRORS = frozenset({200, 400, 401, 403})
"""Statuses of OAuth errors. Some login servers send them with 200."""
_FINAL = frozenset({"invalid_grant", "invalid_client", "unauthorized_client", "bad_refresh_token"})
"""Errors after which no renewal of the login can work (RFC 6749, section 5.2; the last is GitHub's).

The refresh token is not valid, the client is not known, or the client may not renew. Any other error may be
of a proxy, or of a limit.
"""


async def renew(record: LoginRecord, server: str) -> LoginRecord:
    """Return a login with new tokens.

    Raises `LoginExpiredError` if a new login is needed, and `LoginServerError` or `LoginError` if that is
    unknown.
    """
    tokens = record.tokens
    if tokens is None or not tokens.refresh:
        raise LoginExpiredError
    with quiet():
        async with LoginFetcher(record.label, server, allow_private=record.allow_private) as fetcher:
            with _unusable_is_an_error():
                request = await _Stored.of(record, server).refresh_request()
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
    """Revoke the tokens at the login server (RFC 7009). Return whether it offers that.

    Raises `LoginServerError` or `LoginError` if it did not confirm.
    """
    tokens = record.tokens
    if tokens is None or not record.revocation_endpoint:
        return False
    kinds = {"refresh_token": tokens.refresh, "access_token": tokens.access}
    with quiet():
        async with LoginFetcher(record.label, server, allow_private=record.allow_private) as fetcher:
            for kind, token in kinds.items():
                if token:
                    await _revoke(fetcher, record, server, {"token": token, "token_type_hint": kind})
    return True


async def _revoke(fetcher: LoginFetcher, record: LoginRecord, server: str, form: dict[str, str]) -> None:
    # Login servers made with the SDK refuse the request without `client_secret`, even for a client that has
    # none. An empty field means the same as none (RFC 6749, section 3.2).
    for more in ({}, {"client_secret": ""}):
        with _unusable_is_an_error():
            request = _Stored.of(record, server).revocation_request(record.revocation_endpoint, form | more)
        response = await fetcher.send(request)
        if response.status_code == 200:
            return
        if response.status_code != 400:
            break
    raise LoginServerError(f"the login server answers with HTTP {response.status_code}")


@contextmanager
def _unusable_is_an_error() -> Generator[None]:
    """Raise `LoginServerError` if a stored login holds what no request can be made of."""
    try:
        yield
    except (ValueError, httpx2.InvalidURL, OAuthTokenError) as error:
        raise LoginServerError("the stored login cannot be used") from error


class Memory:
    """The storage that the SDK wants. The login is stored elsewhere once it is complete."""

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


class _Stored(OAuthClientProvider):
    """The SDK's client in the state after a login."""

    @classmethod
    def of(cls, record: LoginRecord, server: str) -> "_Stored":
        tokens = record.tokens
        assert tokens is not None
        stored = cls(server, OAuthClientMetadata(redirect_uris=[AnyUrl("http://127.0.0.1/")]), Memory())
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
    """Return the code of an OAuth error; empty if the answer holds none."""
    return _text_in(response, "error")


def issuer_in(response: httpx2.Response | None) -> str:
    """Return the issuer in the metadata of a login server; empty if there is none."""
    return "" if response is None else _text_in(response, "issuer")


def _text_in(response: httpx2.Response, key: str) -> str:
    with suppress(ValueError, RecursionError):
        body: Any = json.loads(response.content)
        if isinstance(body, dict):
            value = cast("dict[str, object]", body).get(key)
            return value if isinstance(value, str) else ""
    return ""
