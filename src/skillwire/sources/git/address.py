"""The address of a repository: `github:owner/repo[/path][@ref]` or `git+URL[@ref][#path]`.

A repository can also be given by the address of its web page, or by its clone URL (`sources/git/pages.py`).
"""

import re
import unicodedata
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit

from skillwire.core.names import name_fault, path_fault
from skillwire.errors import InvalidValueError
from skillwire.sources.git.pages import canonical_address

GITHUB = "github:"
GIT = "git+"
TOKEN_PROTOCOLS = frozenset({"https", "http"})
"""Protocols that can send a user and a token. For ssh, the operator's keys are used."""

_PROTOCOLS = ("https", "http", "ssh", "git", "file")
_FORM = (
    f"`{GITHUB}owner/repo[/path][@ref]` or `{GIT}URL[@ref][#path]`, "
    f"where the URL begins with {', '.join(f'`{protocol}://`' for protocol in _PROTOCOLS)}, "
    "has no `?` and no space, and has a password only with the first two"
)
_PATH_RULE = "a folder in the repository, such as `skills/writing`"
_REF_RULE = "the name of a branch or a tag, or the full hash of a commit"

_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*", re.ASCII)
_REPO = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)
_GITHUB_PARTS = re.compile(r"([^/@]*)/([^/@]*)([/@].*)?")
_SCP_PARTS = re.compile(r"(\w[\w.-]*@\w[\w.-]*):(?!//|-)([^\s?\\]+)", re.ASCII)
_MAX_REF_PARTS = 8
"""Maximum number of names in a path that are taken for the end of a branch name."""
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII | re.IGNORECASE)
# A path segment may begin with `@`, as in `packages/@acme/skills`. A tag may contain `@`, as in `acme@1.0.0`.
_BEFORE_REF = re.compile(r"(?<!/)@")
# Matches refs that `git check-ref-format` refuses, and a leading `-`, which git would treat as an option.
_BAD_REF = re.compile(r"[-/.]|.*(?:[\s~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$))|.*[/.]$|@$")


@dataclass(frozen=True, slots=True)
class Repository:
    """A folder of a repository at a ref. The `repr` shows neither user nor token."""

    url: str
    """The URL that git fetches, without secrets."""
    path: str
    """The path of the folder in the repository, separated by `/`; empty for the whole repository."""
    ref: str
    """A branch, tag or commit; empty for the default branch."""
    place: str
    """The address as the operator wrote it, without secrets."""
    user: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse an address. Raises `InvalidValueError`, whose message contains no secret."""
        _require_printable(text)
        if (canonical := canonical_address(text)) is not None:
            text = canonical
            _require_printable(text)
        if text.startswith(GITHUB):
            return cls._parse_github(text, text.removeprefix(GITHUB))
        if text.startswith(GIT):
            return cls._parse_url(text)
        raise InvalidValueError("repository", _redact(text), _FORM)

    @property
    def is_pinned(self) -> bool:
        """Whether the ref is a commit, whose content never changes."""
        return _COMMIT.fullmatch(self.ref) is not None

    def interpretations(self) -> tuple[Self, ...]:
        """Return every possible meaning of the address, this repository first.

        The name of a branch or tag may continue in the path: `finance@feature` may mean the branch
        `feature/finance`. A repository cannot have both branches.
        """
        if not self.ref or not self.path or self.is_pinned:
            return (self,)
        names = self.path.split("/")
        ends = range(1, min(len(names), _MAX_REF_PARTS) + 1)
        longer = (
            replace(self, ref=f"{self.ref}/{'/'.join(names[:end])}", path="/".join(names[end:]))
            for end in ends
        )
        return (self, *(each for each in longer if not _BAD_REF.match(each.ref)))

    @property
    def label(self) -> str:
        """The name of the folder, or of the whole repository; `skills` if that name is invalid."""
        last = self.path or unquote(self.url.rstrip("/")).replace(":", "/")
        name = last.rpartition("/")[2].removesuffix(".git")
        return "skills" if name_fault(name) else name

    @property
    def protocol(self) -> str:
        scheme, separator, _ = self.url.partition("://")
        return scheme if separator else "ssh"

    @classmethod
    def _parse_github(cls, text: str, named: str) -> Self:
        parts = _GITHUB_PARTS.fullmatch(named)
        owner, repo, rest = parts.groups(default="") if parts else ("", "", "")
        while repo.endswith(".git"):
            repo = repo.removesuffix(".git")
        if not _OWNER.fullmatch(owner) or not _REPO.fullmatch(repo) or repo in {".", ".."}:
            raise InvalidValueError("repository", _redact(text), f"`{GITHUB}owner/repo[/path][@ref]`")
        path, ref = _split_ref(rest)
        path, ref = _path(path.removeprefix("/")), _ref(ref)
        place = f"{GITHUB}{owner}/{repo}" + (f"/{path}" if path else "") + (f"@{ref}" if ref else "")
        return cls(f"https://github.com/{owner}/{repo}.git", path, ref, place)

    @classmethod
    def _parse_url(cls, text: str) -> Self:
        address, _, path = text.removeprefix(GIT).partition("#")
        found = cls._parse_scp(address) or cls._parse_split_url(address)
        if found is None:
            raise InvalidValueError("repository", _redact(text), _FORM)
        path = _path(path)
        place = f"{GIT}{found.url}" + (f"@{found.ref}" if found.ref else "") + (f"#{path}" if path else "")
        return replace(found, path=path, place=place)

    @classmethod
    def _parse_scp(cls, address: str) -> Self | None:
        """Parse the short form of an ssh address, `git@host:owner/repo.git`.

        Return None for any other address.
        """
        parts = _SCP_PARTS.fullmatch(address)
        if parts is None:
            return None
        path, ref = _split_ref(parts[2])
        return cls(f"{parts[1]}:{path}", "", _ref(ref), "")

    @classmethod
    def _parse_split_url(cls, address: str) -> Self | None:
        """Parse a URL. Return None if it is not supported or must not be passed to git."""
        split = _split(address)
        if split is None or split.scheme not in _PROTOCOLS:
            return None
        who, _, host = split.netloc.rpartition("@")
        user, colon, token = who.partition(":")
        if split.scheme == "ssh" and user and not colon and not user.startswith("-"):
            host, who = f"{user}@{host}", ""  # the ssh user is part of the address, and not a secret
        if who and split.scheme not in TOKEN_PROTOCOLS:
            return None
        path, ref = _split_ref(split.path)
        if not path.strip("/"):
            return None
        url = f"{split.scheme}://{host}{path}"
        return cls(url, "", _ref(ref), "", unquote(user) if who else "", unquote(token) if who else "")


def _require_printable(text: str) -> None:
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in text):
        raise InvalidValueError("repository", _redact(text), "printable text; remove the escaped characters")


def _split(address: str) -> SplitResult | None:
    """Return the parts of a URL, or None if it has a query, a space, a backslash or an invalid host."""
    try:
        split = urlsplit(address)
        host, _ = split.hostname, split.port  # reading the port validates it
    except ValueError:  # the original message would repeat the address, including secrets
        return None
    if "?" in address or "\\" in address or any(character.isspace() for character in address):
        return None
    if split.scheme == "file":
        return split if not split.netloc else None
    return split if host and not host.startswith("-") else None


def _split_ref(text: str) -> tuple[str, str | None]:
    """Split a text at the `@` before a ref. Return the first part, and the ref or None."""
    before, *ref = _BEFORE_REF.split(text, maxsplit=1)
    return before, ref[0] if ref else None


def _path(text: str) -> str:
    path = text.removesuffix("/")
    if path and path_fault(path):
        raise InvalidValueError("path", text, _PATH_RULE)
    return path


def _ref(text: str | None) -> str:
    if text is None:
        return ""
    if not text or _BAD_REF.match(text):
        raise InvalidValueError("ref", text, _REF_RULE)
    return text.lower() if _COMMIT.fullmatch(text) else text


def _redact(text: str) -> str:
    """Remove all parts that may be secret from an invalid address."""
    head, at, tail = text.rpartition("@")
    begin = re.match(r"(?:git\+)?(?:[A-Za-z]+:/*)?", head)
    shown = f"{begin.group() if begin else ''}…@{tail}" if at else text
    return shown.partition("?")[0]
