"""What is kept of one login: which server it is for, who issued it, and the tokens."""

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

MAX_RECORD = 256 * 1024
"""Bytes of one record. Tokens are a few kilobytes."""
_MAX_TEXT = 64 * 1024
_VERSION = 1
_SKEW = 30.0
"""Seconds before its end that a token counts as expired."""
_LONGEST = 10 * 365 * 24 * 3600.0
"""Seconds that a token may be said to last. Some servers say absurd numbers."""


class BrokenRecordError(Exception):
    """A record that nothing can be made of."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The secrets of a login. They are in no `repr`."""

    access: str = field(repr=False)
    refresh: str = field(default="", repr=False)
    client_secret: str = field(default="", repr=False)

    def to_json(self) -> dict[str, Any]:
        return {"access": self.access, "refresh": self.refresh, "client_secret": self.client_secret}

    @classmethod
    def read(cls, value: object) -> "Tokens":
        """Return the tokens in JSON. Raises `BrokenRecordError`."""
        fields = _fields(value)
        access, refresh, secret = (_text(fields, name) for name in ("access", "refresh", "client_secret"))
        if access and not is_sendable(access):
            raise BrokenRecordError("the access token cannot be sent")
        return cls(access, refresh, secret)


@dataclass(frozen=True, slots=True)
class LoginRecord:
    """One login: bound to a label, to the server that the label stands for, and to the issuer (H28)."""

    label: str
    identity: str
    """What the label stood for: `Target.identity`."""
    server: str
    """Where that is, without secrets."""
    issuer: str
    client_id: str
    token_endpoint: str
    auth_method: str = "none"
    """How the token endpoint knows the client: `none`, `client_secret_post` or `client_secret_basic`."""
    revocation_endpoint: str = ""
    resource: str = ""
    """What the tokens are for, as the login server was told (RFC 8707)."""
    scope: str = ""
    expires_at: float | None = None
    allow_private: bool = False
    """Whether the person agreed that the login server may be in a private network."""
    in_keyring: bool = False
    """Whether the tokens are in the keyring of the system, and not in the record."""
    renewable: bool = False
    """Whether there is a refresh token."""
    tokens: Tokens | None = field(default=None, repr=False)

    @property
    def expired(self) -> bool:
        return self.expires_at is not None and time.time() > self.expires_at - _SKEW

    @property
    def spent(self) -> bool:
        """Whether nothing but a new login helps, as far as one can tell without asking."""
        return not self.renewable and (self.expired or (not self.in_keyring and self.tokens is None))

    @property
    def keyring_name(self) -> str:
        """The name of its tokens in a keyring: another server or issuer has other tokens."""
        return f"{self.label} {self.identity} {self.issuer}"

    def renewed(self, tokens: Tokens, expires_in: float | None, scope: str | None) -> "LoginRecord":
        """Return the record with new tokens. What the issuer leaves out stays as it was (RFC 6749, 6)."""
        return replace(
            self,
            tokens=tokens,
            expires_at=expiry(expires_in),
            scope=self.scope if scope is None else scope,
            renewable=bool(tokens.refresh),
        )

    def without_tokens(self) -> "LoginRecord":
        """Return the record of a login that is over."""
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
        """Return what was written. Raises `BrokenRecordError`."""
        try:
            fields = _fields(json.loads(content))
        except (ValueError, RecursionError) as error:
            raise BrokenRecordError("it is not JSON") from error
        if fields.get("version") != _VERSION:
            raise BrokenRecordError("it is of another version")
        expires: object = fields.get("expires_at")
        if isinstance(expires, bool) or not (expires is None or isinstance(expires, (int, float))):
            raise BrokenRecordError("`expires_at` is no number")
        if expires is not None and not math.isfinite(expires):
            raise BrokenRecordError("`expires_at` is no number")
        tokens = fields.get("tokens")
        return cls(
            label=_text(fields, "label"),
            identity=_text(fields, "identity"),
            server=_text(fields, "server"),
            issuer=_text(fields, "issuer"),
            client_id=_text(fields, "client_id"),
            token_endpoint=_text(fields, "token_endpoint"),
            auth_method=_text(fields, "auth_method"),
            revocation_endpoint=_text(fields, "revocation_endpoint"),
            resource=_text(fields, "resource"),
            scope=_text(fields, "scope"),
            expires_at=expires,
            allow_private=fields.get("allow_private") is True,
            in_keyring=fields.get("in_keyring") is True,
            renewable=fields.get("renewable") is True,
            tokens=None if tokens is None else Tokens.read(tokens),
        )


def expiry(expires_in: float | None) -> float | None:
    """Return when a token ends that lasts so many seconds."""
    return None if expires_in is None else time.time() + min(max(expires_in, 0.0), _LONGEST)


def is_sendable(token: str) -> bool:
    """Whether a header can carry a token."""
    return len(token) <= _MAX_TEXT and token.isascii() and token.isprintable() and " " not in token


def _fields(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise BrokenRecordError("it is not an object")
    return cast("Mapping[str, object]", value)


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise BrokenRecordError(f"`{name}` is no text of reasonable length")
    return value
