"""Approval tokens: proof that this very code was judged, for this user, in this session, a short while ago.

A token is a few claims and an HMAC-SHA256 over exactly those characters. It tells nothing: code, variables,
user and session are in it as keyed digests. It is short, because a model has to repeat it. It works once.
When the server ends, its key is gone, and all tokens with it.
"""

import hashlib
import hmac
import json
import secrets
import struct
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from enum import Enum
from threading import Lock
from typing import Any, get_args

from approved_code.judge import Risk

LIFETIME = 300.0
"""Seconds for which a token works."""

_LAYOUT = struct.Struct(">QQ16s16s16s16sB")
_LENGTH = len(urlsafe_b64encode(bytes(_LAYOUT.size)))
_RISKS = get_args(Risk)


class Reason(Enum):
    """Why a token is refused, with what to do."""

    FORGED = "this server did not make this token"
    FOREIGN = "the token was made for another user or another session"
    ALTERED_CODE = "the token was made for other code"
    ALTERED_VARIABLES = "the token was made for other variables"
    EXPIRED = "the token has expired"
    USED = "the token was used before"


class RefusedError(Exception):
    """A token that does not allow this."""

    def __init__(self, reason: Reason) -> None:
        self.reason = reason
        super().__init__(f"{reason.value}; call `validate_code` with exactly this code and these variables")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks."""

    user: str
    session: str


@dataclass(frozen=True, slots=True)
class _Claims:
    """What a token says."""

    issued: int
    expires: int
    """In milliseconds."""
    once: bytes
    caller: bytes
    code: bytes
    variables: bytes
    risk: int

    def written(self) -> str:
        return urlsafe_b64encode(_LAYOUT.pack(*astuple(self))).decode()

    @classmethod
    def read(cls, text: str) -> "_Claims":
        return cls(*_LAYOUT.unpack(urlsafe_b64decode(text)))


class Approvals:
    """Makes tokens, and takes each of them back once."""

    def __init__(
        self,
        server: str,
        *,
        key: bytes | None = None,
        clock: Callable[[], float] = time.monotonic,
        lifetime: float = LIFETIME,
    ) -> None:
        self._server = server
        self._key = key or secrets.token_bytes(32)
        self._clock = clock
        self._lifetime = lifetime
        self._used: dict[bytes, int] = {}
        """When each token that came back expires; after that it is refused anyway, and forgotten here."""
        self._lock = Lock()

    def issue(self, caller: Caller, code: str, variables: Mapping[str, Any], risk: Risk) -> str:
        """Return a token for exactly this code and these variables."""
        now = self._now()
        claims = _Claims(
            issued=now,
            expires=now + int(self._lifetime * 1000),
            once=secrets.token_bytes(16),
            caller=self._caller(caller),
            code=self._digest("code", code),
            variables=self._digest("variables", _json(dict(variables))),
            risk=_RISKS.index(risk),
        ).written()
        return claims + self._signature(claims)

    def redeem(self, token: str, caller: Caller, code: str, variables: Mapping[str, Any]) -> None:
        """Use a token up. Raises `RefusedError`, and then it is not used up."""
        text, signature = token[:_LENGTH], token[_LENGTH:]
        # The characters themselves are compared: what merely decodes to the same bytes is another token.
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._signature(text).encode()):
            raise RefusedError(Reason.FORGED)
        claims = _Claims.read(text)
        for claimed, found, reason in (
            (claims.caller, self._caller(caller), Reason.FOREIGN),
            (claims.code, self._digest("code", code), Reason.ALTERED_CODE),
            (claims.variables, self._digest("variables", _json(dict(variables))), Reason.ALTERED_VARIABLES),
        ):
            if not hmac.compare_digest(claimed, found):
                raise RefusedError(reason)
        now = self._now()
        if not claims.issued <= now < claims.expires:
            raise RefusedError(Reason.EXPIRED)
        with self._lock:
            self._used = {once: expires for once, expires in self._used.items() if expires > now}
            if claims.once in self._used:
                raise RefusedError(Reason.USED)
            self._used[claims.once] = claims.expires

    def _now(self) -> int:
        return int(self._clock() * 1000)

    def _caller(self, caller: Caller) -> bytes:
        return self._digest("caller", _json([caller.user, caller.session]))

    def _digest(self, what: str, text: str) -> bytes:
        return self._mac(what, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())[:16]

    def _signature(self, text: str) -> str:
        return urlsafe_b64encode(self._mac("token", text)).decode()

    def _mac(self, what: str, text: str) -> bytes:
        """Return a keyed digest. The server and the purpose are part of it: none can stand for another."""
        message = _json([self._server, what, text]).encode()
        return hmac.new(self._key, message, hashlib.sha256).digest()


def _json(value: Any) -> str:
    """Return the one way to write a value. `1`, `1.0` and `true` differ; keys in another order do not."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
