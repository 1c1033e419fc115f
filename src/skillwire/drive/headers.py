"""Select the HTTP headers of a reader's request that are forwarded to programs."""

import re
from collections.abc import Iterable

from starlette.datastructures import Headers

from skillwire.errors import InvalidValueError

_FORWARDED = frozenset({"content-type", "user-agent"})
_PRIVATE_WORDS = ("auth", "token", "key", "secret", "session", "oidc", "jwt", "credential", "cookie")
"""A header whose name contains one of these words may carry an identity or a secret."""
_PRIVATE_PREFIXES = ("x-forwarded-", "x-amzn-", "x-mdp-", "x-skillwire-")
_NEVER = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie"})
_HEADER_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+", re.ASCII)


class HeaderRule:
    """Selects the headers that are forwarded to a program.

    By default, forwards `content-type`, `user-agent`, and headers that begin with `accept` or `x-`. Headers
    that may contain an identity or a secret, and headers of proxies, of the protocol and of Skillwire, are
    left out.
    """

    def __init__(self, names: Iterable[str] | None = None) -> None:
        """With `names`, forward exactly these headers.

        Raises `InvalidValueError` if a name is invalid, or names a header that is never forwarded.
        """
        self._names = None if names is None else frozenset(map(_checked_name, names))

    def forwarded(self, headers: Headers) -> dict[str, str]:
        """Return the headers of a request that are forwarded. Values of a repeated header are joined."""
        names = {name for name in headers if self.allows(name)}
        return {name: ", ".join(headers.getlist(name)) for name in sorted(names)}

    def allows(self, name: str) -> bool:
        """Return whether the header with this lowercase name is forwarded."""
        if self._names is not None:
            return name in self._names
        if name.startswith(_PRIVATE_PREFIXES) or any(word in name for word in _PRIVATE_WORDS):
            return False
        return name in _FORWARDED or name.startswith(("accept", "x-"))


def _checked_name(text: str) -> str:
    name = text.strip().lower()
    if not _HEADER_NAME.fullmatch(name):
        raise InvalidValueError("header", text, "the name of an HTTP header, such as `x-review-scope`")
    if name in _NEVER or name.startswith(("x-mdp-", "x-skillwire-")):
        raise InvalidValueError(
            "header", text, "a header that programs may get; credentials reach them only through a hook"
        )
    return name
