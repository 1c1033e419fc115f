"""The stored record of a login, and the errors of logins.

This module does not import the MCP SDK, so that commands that only show logins start fast.
"""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast
from urllib.parse import urlsplit

MAX_RECORD = 256 * 1024
"""Maximum size of a record in bytes. Tokens have a few kilobytes."""
_MAX_TEXT = 64 * 1024
_VERSION = 1
_SKEW = 30.0
"""Seconds before its expiry at which a token already counts as expired."""
_LONGEST = 10 * 365 * 24 * 3600.0
"""Maximum lifetime of a token in seconds. Some servers send absurdly large numbers."""
_AUTH_METHODS = frozenset({"none", "client_secret_post", "client_secret_basic"})


class LoginExpiredError(Exception):
    """The login server refuses to renew a login, so a new login is needed."""


class LoginServerError(Exception):
    """A request for a login failed, or its response is unusable. A later attempt may succeed."""


class BrokenRecordError(Exception):
    """The record of a login is invalid, or its file must not be used."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The secrets of a login. `repr` does not show them."""

    access: str = field(repr=False)
    refresh: str = field(default="", repr=False)
    client_secret: str = field(default="", repr=False)

    def to_json(self) -> dict[str, Any]:
        return {"access": self.access, "refresh": self.refresh, "client_secret": self.client_secret}

    @classmethod
    def read(cls, value: object) -> "Tokens":
        """Parse tokens from JSON. Raises `BrokenRecordError`."""
        fields = _fields(value)
        access, refresh, secret = (_text(fields, name) for name in ("access", "refresh", "client_secret"))
        if access and not is_sendable(access):
            raise BrokenRecordError("the access token cannot be sent")
        return cls(access, refresh, secret)


@dataclass(frozen=True, slots=True)
class LoginRecord:
    """One login, bound to a label, a server and an issuer (H28)."""

    label: str
    identity: str
    """Identifies the server behind the label: `Target.login_identity`."""
    server: str
    """The URL of the server, without query and secrets."""
    issuer: str
    client_id: str
    token_endpoint: str
    auth_method: str = "none"
    """How the client authenticates: `none`, `client_secret_post` or `client_secret_basic`."""
    revocation_endpoint: str = ""
    resource: str = ""
    """The resource indicator for which the tokens were issued (RFC 8707)."""
    scope: str = ""
    expires_at: float | None = None
    allow_private: bool = False
    """Whether the user allowed a login server at a loopback address or in a private network."""
    in_keyring: bool = False
    """Whether the tokens are in the system keyring instead of the file."""
    renewable: bool = False
    """Whether there is a refresh token."""
    tokens: Tokens | None = field(default=None, repr=False)

    @property
    def expired(self) -> bool:
        return self.expires_at is not None and time.time() > self.expires_at - _SKEW

    @property
    def needs_login(self) -> bool:
        """Whether a new login is needed, judging from the record alone."""
        return not self.renewable and (self.expired or (not self.in_keyring and self.tokens is None))

    def is_for(self, identity: str) -> bool:
        """Return whether the login is for the server with this `Target.identity`, ignoring its query."""
        return identity == self.identity or identity.startswith(f"{self.identity} ")

    @property
    def keyring_name(self) -> str:
        """The name of the login's tokens in a keyring. It depends on the server and the issuer."""
        return f"{self.label} {self.identity} {self.issuer}"

    def renewed(self, tokens: Tokens, expires_in: float | None, scope: str | None) -> "LoginRecord":
        """Return the record with new tokens.

        Without a `scope`, the scope stays the same (RFC 6749, section 6). Without `expires_in`, the expiry is
        unknown.
        """
        return replace(
            self,
            tokens=tokens,
            expires_at=expiry(expires_in),
            scope=self.scope if scope is None else scope,
            renewable=bool(tokens.refresh),
        )

    def without_tokens(self) -> "LoginRecord":
        """Return the record of a login that has expired."""
        return replace(self, tokens=None, in_keyring=False, renewable=False)

    def to_bytes(self, *, with_tokens: bool) -> bytes:
        value = {
            "version": _VERSION,
            "label": self.label,
            "identity": self.identity,
            "server": self.server,
            "issuer": self.issuer,
            "client_id": self.client_id,
            "auth_method": self.auth_method,
            "token_endpoint": self.token_endpoint,
            "revocation_endpoint": self.revocation_endpoint,
            "resource": self.resource,
            "scope": self.scope,
            "expires_at": self.expires_at,
            "allow_private": self.allow_private,
            "in_keyring": self.in_keyring,
            "renewable": self.renewable,
            "tokens": self.tokens.to_json() if with_tokens and self.tokens is not None else None,
        }
        return json.dumps(value, indent=1).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> "LoginRecord":
        """Return the record that `to_bytes` wrote. Raises `BrokenRecordError`."""
        try:
            fields = _fields(json.loads(content))
        except (ValueError, RecursionError) as error:
            raise BrokenRecordError("it is not JSON") from error
        if fields.get("version") != _VERSION:
            raise BrokenRecordError("it has an unknown version")
        expires: object = fields.get("expires_at")
        if isinstance(expires, bool) or not (expires is None or isinstance(expires, (int, float))):
            raise BrokenRecordError("`expires_at` is not a number")
        if expires is not None and not math.isfinite(expires):
            raise BrokenRecordError("`expires_at` is not a number")
        tokens = fields.get("tokens")
        if (method := _text(fields, "auth_method")) not in _AUTH_METHODS:
            raise BrokenRecordError("`auth_method` is unknown")
        return cls(
            label=_text(fields, "label"),
            identity=_text(fields, "identity"),
            server=_text(fields, "server"),
            issuer=_url(fields, "issuer"),
            client_id=_text(fields, "client_id"),
            token_endpoint=_url(fields, "token_endpoint"),
            auth_method=method,
            revocation_endpoint=_url(fields, "revocation_endpoint", optional=True),
            resource=_url(fields, "resource", optional=True),
            scope=_text(fields, "scope"),
            expires_at=expires,
            allow_private=fields.get("allow_private") is True,
            in_keyring=fields.get("in_keyring") is True,
            renewable=fields.get("renewable") is True,
            tokens=None if tokens is None else Tokens.read(tokens),
        )


def expiry(expires_in: float | None) -> float | None:
    """Return the time (Unix seconds) at which a token with this lifetime expires; None if it is unknown."""
    return None if expires_in is None else time.time() + min(max(expires_in, 0.0), _LONGEST)


def is_sendable(token: str) -> bool:
    """Return whether a token can be sent in an `Authorization` header."""
    return len(token) <= _MAX_TEXT and token.isascii() and token.isprintable() and " " not in token


def _fields(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise BrokenRecordError("it is not an object")
    return cast("Mapping[str, object]", value)


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise BrokenRecordError(f"`{name}` is not a string of at most {_MAX_TEXT:,} characters")
    return value


def _url(fields: Mapping[str, object], name: str, *, optional: bool = False) -> str:
    value = _text(fields, name)
    if optional and not value:
        return value
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not value.isascii() or not value.isprintable() or " " in value:
        raise BrokenRecordError(f"`{name}` is not a URL")
    return value
