"""Turn what a client's file says of a server into a target; the value that describes a client."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from skillwire.config.clients.files import ClientEnvironment, Place, as_object
from skillwire.errors import SkillwireError
from skillwire.host.connections.labels import slug
from skillwire.host.connections.target import Target
from skillwire.safe_text import quoted

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
# An end that is missing is searched for once, and not again from every beginning.
_BRACES = rf"\$\{{(?P<braced>{_NAME})(?:\}}|:-(?P<default>[^}}]*+)(?:\}}|(?P<unclosed>\Z)))"
_BARE = rf"\$(?P<bare>{_NAME})"
NONE = re.compile(r"(?!)")
"""Nothing is a variable."""
BRACES = re.compile(_BRACES)
"""`${NAME}` and `${NAME:-default}`."""
BRACES_AND_BARE = re.compile(rf"{_BRACES}|{_BARE}")
"""The same, and `$NAME`."""
EDITOR = re.compile(r"\$\{(?P<editor>[^}]*+)(?:\}|(?P<unclosed>\Z))")
"""`${env:NAME}`, `${workspaceFolder}` and the like."""

_SEPARATORS = frozenset({"pathSeparator", "/"})
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_STDIO = frozenset({"stdio", "local"})
_HTTP = frozenset({"http", "streamable-http", "streamable_http", "streamablehttp", "remote"})
OLD_TRANSPORT = "it speaks SSE, the transport before streamable HTTP, which is not supported"


class EntryError(SkillwireError):
    """Why one server of a file cannot be reached. The others can."""


@dataclass(slots=True)
class Variables:
    """Replaces variables in the way of one client, and remembers those of the environment that it used."""

    pattern: re.Pattern[str]
    environment: Mapping[str, str] = field(repr=False)
    predefined: Mapping[str, str] = field(default_factory=dict[str, str])
    used: set[str] = field(default_factory=set[str])

    def expand(self, text: str) -> str:
        """Return `text` with the values. What is in a value stays as it is. Raises `EntryError`."""
        return self.pattern.sub(self._value, text)

    def value(self, name: str) -> str:
        """Return the value of a variable of the environment. Raises `EntryError`."""
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
            raise EntryError(f"a variable in the default of another, {quoted(name)}, is not supported")
        if default is not None and not self.environment.get(name):
            return default
        return self.value(name)

    def _editor_value(self, name: str) -> str:
        if name in self.predefined:
            if name not in _SEPARATORS:  # who is told where something is, is told who works here
                self.used.add(name)
            return self.predefined[name]
        kind, _, rest = name.partition(":")
        if kind == "env" and rest:
            return self.value(rest)
        if kind == "input":
            raise EntryError(f"the editor asks a person for {quoted(rest)}, and nobody else knows the answer")
        raise EntryError(f"only the editor knows what {quoted('${' + name + '}')} is")


def editor_variables_of(environment: Mapping[str, str], home: Path, workspace: Path) -> Variables:
    """Return the variables that editors know, with `workspace` as the folder that is open."""
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
    """One server as a file names it."""

    name: str
    target: Target | None = None
    problem: str = ""
    """Why there is no target."""
    enabled: bool = True
    spelled: str = ""
    """Its URL or command as it stands in the file; whole, if there is a target."""
    added: tuple[str, ...] = ()
    """The variables that a program gets, as they stand in the file."""
    used: frozenset[str] = frozenset()
    """The variables of the person that the target holds the values of."""


class Entry:
    """One server of a file, read field by field. What is wrong with it raises `EntryError`."""

    def __init__(self, raw: object, variables: Variables, folder: Path | None) -> None:
        if not isinstance(raw, dict):
            raise EntryError("it is not an object")
        self._raw = as_object(cast("object", raw))
        self.variables = variables
        self.folder = folder
        """Where a program runs that says nothing else, and where its paths begin."""
        self.added: tuple[str, ...] = ()
        """The variables that a program gets, as they stand in the file."""
        self.spelled = ""
        """The URL or command that was made of it, as it stands in the file, whole."""

    def has(self, key: str) -> bool:
        return self._raw.get(key) is not None

    def flag(self, key: str, *, fallback: bool) -> bool:
        value = self._raw.get(key)
        return value if isinstance(value, bool) else fallback

    def plain(self, key: str) -> str:
        """Return a text as it stands in the file; empty if there is none."""
        value = self._raw.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise EntryError(f"`{key}` is not a text")
        return value

    def text(self, key: str) -> str:
        """Return a text with its variables replaced."""
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
        """Return the target of a command."""
        words = [self.plain(key), *self.plain_list("args")]
        command = tuple(self.variables.expand(word) for word in words)
        if not command[0].strip():
            raise EntryError(f"`{key}` is empty")
        if any("\0" in word for word in command):
            raise EntryError("its command holds a character that no command can")
        self.added = tuple(f"{name}={value}" for name, value in self.plain_mapping(env).items())
        self.spelled = shlex.join(words)
        return Target("server", command=command, cwd=self._cwd(), env=self.mapping(env), spelled=self.spelled)

    def site(self, key: str = "url", headers: str = "headers") -> Target:
        """Return the target of a URL."""
        url = self.text(key).strip()
        if not re.match(r"https?://[^/]", url, re.IGNORECASE):
            raise EntryError(f"`{key}` is no address of the web")
        self.spelled = self.plain(key)
        spelled = re.sub(r"//[^/@?#]*@|[?#].*$", _without_keys, self.plain(key), flags=re.DOTALL)
        return with_headers(Target("server", url=url, spelled=spelled), self.mapping(headers))

    def _cwd(self) -> Path | None:
        given = self.text("cwd")
        if not given:
            return self.folder
        path = Path(given).expanduser()
        return path if path.is_absolute() else (self.folder or Path.cwd()) / path


def with_headers(target: Target, headers: Mapping[str, str]) -> Target:
    """Return the target with more headers. Raises `EntryError` if one cannot be sent."""
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            raise EntryError(f"{quoted(name)} is no name of a header")
        if not value.isascii() or not value.isprintable():  # the value may be a secret
            raise EntryError(f"the header {quoted(name)} holds characters that no header can carry")
    return replace(target, headers={**target.headers, **headers})


def parse_target(entry: Entry, url: str = "url") -> Target:
    """Return the target of an entry as most clients write it: `type` says which kind it is, else its keys."""
    kind = entry.plain("type").lower() or ("stdio" if entry.has("command") else "http")
    if kind == "sse" or (not entry.has("type") and entry.plain(url).rstrip("/").endswith("/sse")):
        raise EntryError(OLD_TRANSPORT)
    if kind in _STDIO:
        return entry.program()
    if kind in _HTTP:
        return entry.site(url)
    raise EntryError(f"its `type` {quoted(kind)} is not known")


def declare_server(
    name: str,
    raw: object,
    variables: Variables,
    folder: Path | None = None,
    make: Callable[[Entry], Target] = parse_target,
) -> DeclaredServer:
    """Return what `make` makes of an entry, or the reason why nothing can be made of it."""
    known = DeclaredServer(name, enabled=not _is_disabled(raw), spelled=_spelled(raw))
    try:
        entry = Entry(raw, replace(variables, used=set()), folder)
        target = replace(make(entry), label=slug(name))
    except EntryError as error:
        return replace(known, problem=str(error))
    used = frozenset(entry.variables.used)
    return replace(known, target=target, spelled=entry.spelled, added=entry.added, used=used)


def entries(document: Mapping[str, object], *keys: str) -> Iterator[tuple[str, object]]:
    """Yield the servers below a key, or below keys inside each other. Nothing there means no servers."""
    found: object = document
    for key in keys:
        found = as_object(found).get(key)
    yield from ((str(name), raw) for name, raw in as_object(found).items())


def _without_keys(match: re.Match[str]) -> str:
    return "//" if match[0].startswith("//") else ""


def _is_disabled(raw: object) -> bool:
    fields = as_object(raw)
    return fields.get("enabled") is False or fields.get("disabled") is True


def _spelled(raw: object) -> str:
    """Return the URL or command of an entry that may be broken, as well as it can be told."""
    fields = as_object(raw)
    where = next((fields[key] for key in ("httpUrl", "url", "uri") if isinstance(fields.get(key), str)), None)
    if where is not None:
        return str(where)
    words = [fields.get("command") or fields.get("cmd"), *_listed(fields.get("args"))]
    return shlex.join(word for word in words if isinstance(word, str))


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _as_text(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):  # people write `"PORT": 8080`, and `true`
        return json.dumps(value)
    raise EntryError(f"`{key}` holds something that is not a text")


@dataclass(frozen=True, slots=True)
class Client:
    """One line of the table of clients."""

    name: str
    """What it is called in labels and on the command line."""
    title: str
    places: Callable[[ClientEnvironment], Iterator[Place]]
    """Where it looks, nearest first."""
    servers: Callable[[Mapping[str, object], Place, ClientEnvironment], Iterator[DeclaredServer]]
    """The servers of one file."""
