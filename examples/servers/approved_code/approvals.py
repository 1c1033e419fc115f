"""Approval tokens: proof that this very code was judged, for this user, in this session, a short while ago.

A token is a list of claims and an HMAC-SHA256 over exactly those characters. It tells nothing: code,
variables, user and session are in it as keyed digests. It works once. When the server ends, its key is gone,
and all tokens with it.
"""

import hashlib
import hmac
import json
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from threading import Lock
from typing import Any

LIFETIME = 300.0
"""Seconds for which a token works."""
LONGEST = 2_000
"""Characters. Ours are shorter, and nothing longer is looked at."""


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
        self._used: dict[str, float] = {}
        """When each token that came back expires; after that it is refused anyway, and forgotten here."""
        self._lock = Lock()

    def issue(self, caller: Caller, code: str, variables: Mapping[str, Any], risk: str) -> str:
        """Return a token for exactly this code and these variables."""
        now = self._clock()
        claims = {
            **self._bound(caller, code, variables),
            "risk": risk,
            "issued": now,
            "expires": now + self._lifetime,
            "once": secrets.token_hex(16),
        }
        text = urlsafe_b64encode(_json(claims)).decode()
        return f"{text}.{self._digest('token', text)}"

    def redeem(self, token: str, caller: Caller, code: str, variables: Mapping[str, Any]) -> None:
        """Use a token up. Raises `RefusedError`, and then it is not used up."""
        claims = self._claims(token)
        bound = self._bound(caller, code, variables)
        for claim, reason in _REASONS.items():
            if not hmac.compare_digest(str(claims[claim]), bound[claim]):
                raise RefusedError(reason)
        now = self._clock()
        if not claims["issued"] <= now < claims["expires"]:
            raise RefusedError(Reason.EXPIRED)
        with self._lock:
            self._used = {once: expires for once, expires in self._used.items() if expires > now}
            if claims["once"] in self._used:
                raise RefusedError(Reason.USED)
            self._used[claims["once"]] = claims["expires"]

    def _claims(self, token: str) -> dict[str, Any]:
        """Return what a token says, having seen that we said it."""
        text, _, signature = token[: LONGEST + 1].rpartition(".")
        ours = self._digest("token", text)
        # The characters themselves are compared: what merely decodes to the same bytes is another token.
        same = hmac.compare_digest(signature.encode("utf-8", "replace"), ours.encode())
        if not same or len(token) > LONGEST:
            raise RefusedError(Reason.FORGED)
        return json.loads(urlsafe_b64decode(text))

    def _bound(self, caller: Caller, code: str, variables: Mapping[str, Any]) -> dict[str, str]:
        """Return what a token is bound to."""
        return {
            "server": self._digest("server", self._server),
            "user": self._digest("user", caller.user),
            "session": self._digest("session", caller.session),
            "code": self._digest("code", hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()),
            "variables": self._digest("variables", _json(dict(variables)).decode()),
        }

    def _digest(self, what: str, text: str) -> str:
        """Return a keyed digest. What it is of is part of it, so that none can stand for another."""
        message = f"{what}:{text}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, message, hashlib.sha256).hexdigest()


_REASONS = {
    "server": Reason.FORGED,
    "user": Reason.FOREIGN,
    "session": Reason.FOREIGN,
    "code": Reason.ALTERED_CODE,
    "variables": Reason.ALTERED_VARIABLES,
}
"""What it means if a claim is not what it is bound to, in the order in which they are looked at."""


def _json(value: Any) -> bytes:
    """Return the one way to write a value. `1`, `1.0` and `true` differ; keys in another order do not."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
