"""`Target`: the URL of a server, or the command that starts it."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from skillwire.errors import InvalidValueError, UsageError
from skillwire.host.connections.addresses import is_loopback, is_plain_http
from skillwire.host.connections.errors import LoginAdvice
from skillwire.host.connections.labels import command_slug, url_slug, validate_label
from skillwire.safe_text import quoted

COMMAND = "stdio:"
"""In arguments, the prefix of a command that starts a server. Equivalent to `-- command`."""
_SHORTEST_SECRET = 8
"""Minimum length of a value that is treated as secret.

Shorter values are flags or numbers, which occur in ordinary text.
"""
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
"""Names of headers that are never secret, in lower case."""
_SERVER = "mcp+"
"""In arguments, the prefix of a server's URL where a plain URL would be a web source."""
_LAUNCHER = re.compile(
    r"(python|pypy)[\d.]*|node|deno|bun|bunx|npx|pnpx|uv|uvx|pipx|ruby|perl|php|java|sh|bash|zsh"
)
"""Programs whose first argument is a script, module or package."""
_HARMLESS_WORDS = frozenset(
    ["run", "tool", "-m", "-u", "-B", "-E", "-I", "-P", "-s", "-y", "--yes", "-q", "-jar"]
)
"""Words between a launcher and what it starts."""
_PLAIN_NAME = re.compile(r"[\w@./\\~+ -]+")
"""A path or name. Other words may be URLs or assignments, which may contain secrets."""


class TokenSource(Protocol):
    """Supplies the access token for one server. The token is sent only to the server's origin.

    The methods may raise `SkillwireError`. Such an error is reported for the server.
    """

    async def token(self) -> str | None:
        """Return the token to send, or None if no one has logged in."""
        ...

    async def renewed(self, refused: str) -> str | None:
        """Return a new token to replace a refused token, or None if a new login is needed."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """An MCP server: its label, and its URL or the command that starts it.

    The `repr` never contains secrets.
    """

    label: str
    """The user's name for the server. The server's own name is never used (H9)."""
    url: str | None = field(default=None, repr=False)
    command: tuple[str, ...] = field(default=(), repr=False)
    cwd: Path | None = None
    """The working directory of the command; None for the current directory."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables for the command, in addition to the user's environment."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Headers for each request to the URL. They are sent only to its origin."""
    token: str | None = field(default=None, repr=False)
    """The bearer token for the URL. It is sent only to its origin."""
    public_only: bool = False
    """Whether only public addresses are allowed, because the user did not name the URL."""
    as_written: str = field(default="", repr=False)
    """The command, or the URL without user, password, query and fragment. Variables are not expanded.

    A command may contain secrets, so show this text only to the user who wrote it. Show `place` to everyone
    else.
    """

    tokens: TokenSource | None = field(default=None, repr=False, compare=False)
    """Supplies the token of a login.

    A `token` or an `Authorization` header takes precedence.
    """
    typed: bool = field(default=False, compare=False)
    """Whether the user gave the server's URL instead of a label from a configuration file."""

    def __post_init__(self) -> None:
        validate_label(self.label)
        if (self.url is None) != bool(self.command):
            raise InvalidValueError("server", self.label, "reached by a URL or by a command, and not by both")
        if not self.as_written:
            as_written = shlex.join(self.command) if self.url is None else without_query(self.url)
            object.__setattr__(self, "as_written", as_written)

    @classmethod
    def parse(cls, text: str) -> "Target":
        """Return the target for a URL, or for `stdio:` followed by a command. Raises `UsageError`.

        The URL may have the prefix `mcp+`.
        """
        url = text.removeprefix(_SERVER)
        if url.startswith(("http://", "https://")):
            _require_url(url)
            return cls(url_slug(url), url=url, as_written=without_query(url), typed=True)
        if text.startswith(COMMAND) and (words := _words(text)):
            return cls(command_slug(words), command=words, cwd=_relevant_folder(words), typed=True)
        raise UsageError(
            f"{quoted(text)} is not a server",
            hint="write a URL, or `--` and the command that starts the server, as in `-- python server.py`",
        )

    def with_token(self, token: str | None) -> "Target":
        """Return the target with a bearer token. Raises `UsageError` if the server has no URL."""
        if token is not None and self.url is None:
            raise UsageError(
                "a bearer token is for a URL, and this server is started by a command",
                hint="leave out `--token-env`: the command gets all your variables",
            )
        return replace(self, token=token)

    @property
    def place(self) -> str:
        """The URL without its user, query and fragment, or the program's name without arguments.

        For models, clients and logs. A secret in the path of the URL stays.
        """
        if self.url is not None:
            return self.as_written
        return f"{PurePath(self.command[0]).name}{' …' * (len(self.command) > 1)}"

    @property
    def has_token(self) -> bool:
        """Whether there is already a token or an `Authorization` header, so that no login is used."""
        named = any(name.lower() == "authorization" for name in self.headers)
        return self.token is not None or named

    @property
    def exposed(self) -> str:
        """What anyone on the network could read on the way to the server; empty if there is nothing.

        This is a token, or a header that may be secret, which plain `http` would carry to another machine.
        """
        if self.url is None or not is_plain_http(self.url) or is_loopback(urlsplit(self.url).hostname or ""):
            return ""
        if self.token is not None:
            return "its token"
        name = next((each for each in self.headers if each.lower() not in _HARMLESS), None)
        return "" if name is None else f"its header {quoted(name)}"

    @property
    def advice(self) -> LoginAdvice:
        """Messages for the user if the server requires a login."""
        return LoginAdvice(self.label, self.as_written if self.typed else self.label)

    def without_secrets(self, text: str) -> str:
        """Return a message with `…` in place of the target's secrets, and `as_written` in place of its URL.

        Values shorter than 8 characters do not count as secrets.
        """
        text = text.replace(self.url, self.as_written) if self.url else text
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, "…")
        return text

    def _secrets(self) -> Iterator[str]:
        parts = urlsplit(self.url or "")
        in_url = (parts.password or "", parts.fragment, *re.split(r"[=&]", parts.query))
        started = _started(self.command)
        private = (word for at, word in enumerate(self.command) if at > 0 and at != started)
        words = (part for word in private for part in (word, word.partition("=")[2]))
        known = (*in_url, *words, *self.env.values(), *self.headers.values(), self.token or "")
        return (each for each in known if len(each) >= _SHORTEST_SECRET)

    @property
    def identity(self) -> str:
        """Identifies the server behind the label: a URL, or a command and its working directory (H28).

        The identity is stored, so parts that may be secret are hashed.
        """
        if self.url is not None:
            known = without_query(self.url)
            return known if known == self.url else f"{known} {_digest([self.url])}"
        folder = "" if self.cwd is None else str(self.cwd)
        return f"{COMMAND}{self.command[0]} {_digest([*self.command, folder])}"

    @property
    def login_label(self) -> str:
        """The label under which a login is stored.

        For a URL that the user typed, it is always derived from the URL.
        """
        return url_slug(self.url) if self.typed and self.url is not None else self.label

    @property
    def login_identity(self) -> str:
        """Identifies the server to which a login belongs: its URL as `without_query` returns it."""
        return self.identity if self.url is None else without_query(self.url)


def _require_url(url: str) -> None:
    """Raise `UsageError` if a text is not a URL with a host."""
    try:
        host = urlsplit(url).hostname
    except ValueError:  # the original message would repeat the address, including secrets
        host = None
    if not host:
        raise UsageError("the server's address is not a URL", hint="for example `https://example.com/mcp`")


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text.removeprefix(COMMAND)))
    except ValueError as error:
        raise UsageError(f"{quoted(text)} is not a command: {error}", hint="close its quotes") from error


def _started(words: Sequence[str]) -> int | None:
    """Return the index of the script, module or package that a known launcher starts, or None.

    This word is not secret. Any other argument may be.
    """
    if not words or not _LAUNCHER.fullmatch(PurePath(words[0]).name):
        return None
    at = next((at for at, word in enumerate(words) if at > 0 and word not in _HARMLESS_WORDS), None)
    is_name = at is not None and not words[at].startswith("-") and _PLAIN_NAME.fullmatch(words[at])
    return at if is_name else None


def _relevant_folder(words: Sequence[str]) -> Path | None:
    """Return the current folder if a word of the command is a relative path to a file, else None."""
    here = (word for word in words if not Path(word).is_absolute() and Path(word).is_file())
    return Path.cwd() if next(here, None) is not None else None


def without_query(url: str) -> str:
    """Return a URL without user, password, query and fragment, with the scheme and host in lower case."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower(), parts.path, "", ""))


def _digest(words: Sequence[str]) -> str:
    return f"sha256:{hashlib.sha256(json.dumps(list(words)).encode(errors='surrogatepass')).hexdigest()}"
