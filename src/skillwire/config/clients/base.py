"""Convert a server in a client's file to a target. `Client` describes an MCP client."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from skillwire.config.clients.files import ClientEnvironment, ClientFile, as_object
from skillwire.config.clients.writer import ClientWriter
from skillwire.errors import SkillwireError
from skillwire.host.connections.labels import slug
from skillwire.host.connections.target import Target
from skillwire.safe_text import quoted

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
# An unclosed `${` matches to the end of the text, so that matching takes linear time.
_BRACES = rf"\$\{{(?P<braced>{_NAME})(?:\}}|:-(?P<default>[^}}]*+)(?:\}}|(?P<unclosed>\Z)))"
_BARE = rf"\$(?P<bare>{_NAME})"
NONE = re.compile(r"(?!)")
"""Matches nothing, for clients without variables."""
BRACES = re.compile(_BRACES)
"""Matches `${NAME}` and `${NAME:-default}`."""
BRACES_AND_BARE = re.compile(rf"{_BRACES}|{_BARE}")
"""Matches `${NAME}`, `${NAME:-default}` and `$NAME`."""
EDITOR = re.compile(r"\$\{(?P<editor>[^}]*+)(?:\}|(?P<unclosed>\Z))")
"""Matches `${env:NAME}`, `${workspaceFolder}` and similar variables."""

_SEPARATORS = frozenset({"pathSeparator", "/"})
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_STDIO = frozenset({"stdio", "local"})
_HTTP = frozenset({"http", "streamable-http", "streamable_http", "streamablehttp", "remote"})
OLD_TRANSPORT = "it uses the old SSE transport, which is not supported; use streamable HTTP"


class EntryError(SkillwireError):
    """One server in a file cannot be used. The other servers in the file are not affected."""


@dataclass(slots=True)
class Variables:
    """Replaces the variables that one client supports, and records the names of variables that were used."""

    pattern: re.Pattern[str]
    environment: Mapping[str, str] = field(repr=False)
    predefined: Mapping[str, str] = field(default_factory=dict[str, str])
    used: set[str] = field(default_factory=set[str])

    def expand(self, text: str) -> str:
        """Return `text` with variables replaced. Values are not expanded again. Raises `EntryError`."""
        return self.pattern.sub(self._value, text)

    def value(self, name: str) -> str:
        """Return the value of an environment variable. Raises `EntryError` if it is not set."""
        if name not in self.environment:
            raise EntryError(f"the variable {quoted(name)} is not set")
        self.used.add(name)
        return self.environment[name]

    def _value(self, match: re.Match[str]) -> str:
        found = match.groupdict()
        if found.get("unclosed") is not None:
            return match[0]
        if (editor := found.get("editor")) is not None:
            return self._editor_value(editor)
        name, default = found.get("braced") or found.get("bare") or "", found.get("default")
        if default is not None and "${" in default:
            raise EntryError(f"a variable in the default value of {quoted(name)} is not supported")
        if default is not None and not self.environment.get(name):
            return default
        return self.value(name)

    def _editor_value(self, name: str) -> str:
        """Return the value of `env:NAME`, `workspaceFolder` and similar names. Raises `EntryError`."""
        if name in self.predefined:
            if name not in _SEPARATORS:  # a path can reveal the user's name, so it counts as a secret
                self.used.add(name)
            return self.predefined[name]
        kind, _, rest = name.partition(":")
        if kind == "env" and rest:
            return self.value(rest)
        if kind == "input":
            raise EntryError(f"its input {quoted(rest)} is known only to the editor, which asks for it")
        raise EntryError(f"the value of {quoted('${' + name + '}')} is known only to the editor")


def editor_variables_of(environment: Mapping[str, str], home: Path, workspace: Path) -> Variables:
    """Return the variables that editors support, with `workspace` as the open folder."""
    predefined = {
        "userHome": str(home),
        "workspaceFolder": str(workspace),
        "workspaceRoot": str(workspace),
        "workspaceFolderBasename": workspace.name,
        "cwd": str(workspace),
        "pathSeparator": "/",
        "/": "/",
    }
    return Variables(EDITOR, environment, predefined)


@dataclass(frozen=True, slots=True)
class DeclaredServer:
    """One server as declared in a file."""

    name: str
    target: Target | None = None
    problem: str = ""
    """Why there is no target; empty if there is one."""
    enabled: bool = True
    as_written: str = ""
    """The server's URL or command as written in the file. Without a target, it may be incomplete or empty."""
    added: tuple[str, ...] = ()
    """Environment variables for the server's program, as written in the file, and a note about `envFile`."""
    used: frozenset[str] = frozenset()
    """The names of the variables whose values are in the target, such as `API_KEY` or `userHome`."""


class Entry:
    """Reads the fields of one server in a file. The methods raise `EntryError` for invalid values."""

    def __init__(self, raw: object, variables: Variables, folder: Path | None) -> None:
        if not isinstance(raw, dict):
            raise EntryError("it is not an object")
        self._raw = as_object(cast("object", raw))
        self.variables = variables
        self.folder = folder
        """The default working directory of the server's program. Relative paths start there."""
        self.added: tuple[str, ...] = ()
        """As `DeclaredServer.added`."""
        self.as_written = ""
        """The complete URL or command as written in the file, set by `program` and `site`."""

    def has(self, key: str) -> bool:
        return self._raw.get(key) is not None

    def plain(self, key: str) -> str:
        """Return a string as written in the file, or an empty string if it is missing."""
        value = self._raw.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise EntryError(f"`{key}` is not a string")
        return value

    def text(self, key: str) -> str:
        """Return a string with its variables replaced."""
        return self.variables.expand(self.plain(key))

    def plain_list(self, key: str) -> list[str]:
        value: Any = self._raw.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise EntryError(f"`{key}` is not a list")
        return [_as_text(key, each) for each in cast("list[object]", value)]

    def plain_mapping(self, key: str) -> dict[str, str]:
        value: Any = self._raw.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise EntryError(f"`{key}` is not an object")
        items = cast("dict[str, object]", value).items()
        return {str(name): _as_text(key, each) for name, each in items if each is not None}

    def mapping(self, key: str) -> dict[str, str]:
        return {name: self.variables.expand(each) for name, each in self.plain_mapping(key).items()}

    def program(self, key: str = "command", env: str = "env") -> Target:
        """Return the target of a server that is started by a command."""
        words = [self.plain(key), *self.plain_list("args")]
        command = tuple(self.variables.expand(word) for word in words)
        if not command[0].strip():
            raise EntryError(f"`{key}` is empty")
        if any("\0" in word for word in command):
            raise EntryError("its command contains a NUL character")
        self.added = tuple(f"{name}={value}" for name, value in self.plain_mapping(env).items())
        self.as_written = shlex.join(words)
        return Target(
            "server", command=command, cwd=self._cwd(), env=self.mapping(env), as_written=self.as_written
        )

    def site(self, key: str = "url", headers: str = "headers") -> Target:
        """Return the target of a server at a URL."""
        url = self.text(key).strip()
        if not re.match(r"https?://[^/]", url, re.IGNORECASE):
            raise EntryError(f"`{key}` is not an `http` or `https` URL")
        self.as_written = self.plain(key)
        as_written = re.sub(r"//[^/@?#]*@|[?#].*$", _without_keys, self.plain(key), flags=re.DOTALL)
        return with_headers(Target("server", url=url, as_written=as_written), self.mapping(headers))

    def _cwd(self) -> Path | None:
        """Return the working directory: `cwd` in the file, relative to `folder`, else `folder` (or None)."""
        cwd = self.text("cwd")
        if not cwd:
            return self.folder
        path = Path(cwd).expanduser()
        return path if path.is_absolute() else (self.folder or Path.cwd()) / path


def with_headers(target: Target, headers: Mapping[str, str]) -> Target:
    """Return the target with more headers. Raises `EntryError` if a header cannot be sent."""
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            raise EntryError(f"{quoted(name)} is not a header name")
        if not value.isascii() or not value.isprintable():  # do not show the value: it may be a secret
            raise EntryError(
                f"the header {quoted(name)} contains characters that are not allowed in a header"
            )
    return replace(target, headers={**target.headers, **headers})


def parse_target(entry: Entry, url: str = "url") -> Target:
    """Return the target of an entry in the usual form.

    Without a `type`, an entry with a `command` uses stdio, and any other entry uses HTTP. Raises `EntryError`
    for the SSE transport and unknown types.
    """
    kind = entry.plain("type").lower() or ("stdio" if entry.has("command") else "http")
    if kind == "sse" or (not entry.has("type") and entry.plain(url).rstrip("/").endswith("/sse")):
        raise EntryError(OLD_TRANSPORT)
    if kind in _STDIO:
        return entry.program()
    if kind in _HTTP:
        return entry.site(url)
    raise EntryError(f"its `type` {quoted(kind)} is unknown")


def declare_server(
    name: str,
    raw: object,
    variables: Variables,
    folder: Path | None = None,
    make: Callable[[Entry], Target] = parse_target,
) -> DeclaredServer:
    """Return a server with the target that `make` returns, or with the reason why it has none."""
    known = DeclaredServer(name, enabled=not _is_disabled(raw), as_written=_as_written(raw))
    try:
        entry = Entry(raw, replace(variables, used=set()), folder)
        target = replace(make(entry), label=slug(name))
    except EntryError as error:
        return replace(known, problem=str(error))
    used = frozenset(entry.variables.used)
    return replace(known, target=target, as_written=entry.as_written, added=entry.added, used=used)


def entries(document: Mapping[str, object], *keys: str) -> Iterator[tuple[str, object]]:
    """Yield the names and entries of the object at a path of keys.

    Yields nothing if the object is missing.
    """
    found: object = document
    for key in keys:
        found = as_object(found).get(key)
    yield from ((str(name), raw) for name, raw in as_object(found).items())


def _without_keys(match: re.Match[str]) -> str:
    """Return `//` in place of user information in a URL, and nothing in place of a query or fragment."""
    return "//" if match[0].startswith("//") else ""


def _is_disabled(raw: object) -> bool:
    fields = as_object(raw)
    return fields.get("enabled") is False or fields.get("disabled") is True


def _as_written(raw: object) -> str:
    """Return the URL or command of an entry that may be invalid, or an empty string if it has neither."""
    fields = as_object(raw)
    where = next((fields[key] for key in ("httpUrl", "url", "uri") if isinstance(fields.get(key), str)), None)
    if where is not None:
        return str(where)
    words = [fields.get("command") or fields.get("cmd"), *_listed(fields.get("args"))]
    return shlex.join(word for word in words if isinstance(word, str))


def _listed(value: object) -> list[object]:
    """Return `value` if it is a list, else an empty list."""
    return cast("list[object]", value) if isinstance(value, list) else []


def _as_text(key: str, value: object) -> str:
    """Return a value as text. Numbers and booleans are written as JSON. Raises `EntryError`."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):  # people write `"PORT": 8080`, and `true`
        return json.dumps(value)
    raise EntryError(f"`{key}` contains a value that is not a string")


ServersReader = Callable[[Mapping[str, object], ClientFile, ClientEnvironment], Iterator[DeclaredServer]]


@dataclass(frozen=True, slots=True)
class Client:
    """An MCP client: where its files are, and how to read the servers in them."""

    name: str
    """The client's name in labels and on the command line."""
    title: str
    """The client's name in messages."""
    files: Callable[[ClientEnvironment], Iterator[ClientFile]]
    """Returns the files that the client reads, nearest first."""
    servers: ServersReader
    """Returns the servers in the content of one file."""
    writer: ClientWriter | None = None
    """How a server is written into the client's files; None if this is not one client."""
    project_servers: ServersReader | None = None
    """Reads the file in a project that the writer writes, if `servers` does not."""
