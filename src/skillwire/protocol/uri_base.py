"""Skill URIs under a scheme other than `skill://`, such as `github://owner/repo/refunds/SKILL.md`.

Inside the program, every skill URI begins with `skill://`. A server with a `UriBase` translates the URIs in
every request and every result.
"""

import re
from dataclasses import dataclass

from skillwire.core.names import SCHEME
from skillwire.errors import InvalidValueError
from skillwire.protocol.drafts import INDEX_URI

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,62}", re.ASCII)
_SCHEME_RULE = (
    "a URI scheme: a lowercase letter, then lowercase letters, digits, `+`, `.` and `-` (63 characters)"
)
_SEGMENT = re.compile(r"[A-Za-z0-9._~-]+", re.ASCII)
_MAX_AUTHORITY = 256
_AUTHORITY_RULE = (
    f"a path of letters, digits, `.`, `_`, `~` and `-` between single slashes ({_MAX_AUTHORITY} characters)"
)
_NETWORK = "is fetched from the network by clients"
_OURS = "is used by this server for something other than skills"
_RESERVED = {
    "file": "names files of the client's machine",
    **dict.fromkeys(("http", "https", "ws", "wss", "ftp"), _NETWORK),
    **dict.fromkeys(("data", "javascript", "blob", "about"), "has a meaning of its own in browsers"),
    **dict.fromkeys(("skillwire", "resource", "ui"), _OURS),
    "skill": "is the default, and takes no authority",
}
_INNER = re.compile(rf"{SCHEME}(?!{re.escape(INDEX_URI.removeprefix(SCHEME))}(?![\w.~%/-]))")
"""Matches the start of a skill URI in a text, but not the fixed URI of the early drafts' index."""


@dataclass(frozen=True, slots=True)
class UriBase:
    """The scheme and authority that replace `skill://` in every skill URI that clients see."""

    scheme: str
    authority: str | None = None
    """Path segments before the path of the skill, such as `owner/repo`."""

    def __post_init__(self) -> None:
        """Raise `InvalidValueError` for a scheme or authority that clients could misunderstand."""
        if not _SCHEME.fullmatch(self.scheme):
            raise InvalidValueError("the scheme", self.scheme, _SCHEME_RULE)
        if (why := _RESERVED.get(self.scheme)) is not None:
            raise InvalidValueError("the scheme", self.scheme, why, "choose another, such as `github`")
        if self.authority is None:
            return
        segments = self.authority.split("/")
        are_valid = all(map(_SEGMENT.fullmatch, segments)) and {".", ".."}.isdisjoint(segments)
        if not are_valid or len(self.authority) > _MAX_AUTHORITY:
            raise InvalidValueError("the authority", self.authority, _AUTHORITY_RULE)

    @classmethod
    def of(cls, scheme: str | None, authority: str | None) -> "UriBase | None":
        """Return the base with this scheme and authority, or None if both are None.

        Raises `InvalidValueError`.
        """
        if scheme is not None:
            return cls(scheme, authority)
        if authority is not None:
            raise InvalidValueError("the authority", authority, "has no scheme", "name one, such as `github`")
        return None

    @property
    def prefix(self) -> str:
        """The start of all URIs, which ends in a slash."""
        return f"{self.scheme}://{self.authority}/" if self.authority else f"{self.scheme}://"

    def to_outer(self, uri: str) -> str:
        """Return the URI that clients see. Only skill URIs change; `INDEX_URI` stays the same."""
        if not uri.startswith(SCHEME) or uri == INDEX_URI:
            return uri
        return self.prefix + uri[len(SCHEME) :]

    def to_inner(self, uri: str) -> str | None:
        """Return the program's form of a URI from a client, or None if clients never get this URI."""
        if uri == INDEX_URI:
            return uri
        if uri.startswith(self.prefix):
            inner = SCHEME + uri[len(self.prefix) :]
            return None if inner == INDEX_URI else inner
        return None if uri.startswith(SCHEME) else uri

    def in_text(self, text: str) -> str:
        """Return `text` with each skill URI in the form that clients see."""
        return _INNER.sub(lambda _: self.prefix, text)
