"""Cursor and VS Code: where their files are, which variables they support, and how they describe servers."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from skillwire.config.clients.base import (
    Client,
    DeclaredServer,
    Entry,
    EntryError,
    Variables,
    declare_server,
    editor_variables_of,
    entries,
    parse_target,
)
from skillwire.config.clients.files import ClientEnvironment, ClientFile
from skillwire.config.clients.writer import BRACED, ClientWriter
from skillwire.host.connections.target import Target

_MAX_BYTES = 1024 * 1024
_EDITIONS = ("Code", "Code - Insiders")
_UNESCAPED = "!~*'()"
"""Characters that `encodeURIComponent` of JavaScript does not escape."""


def editor_variables(client_file: ClientFile, client_env: ClientEnvironment) -> Variables:
    """Return the variables that a file may use.

    The workspace folder is the file's project. For the user's own file, it is the repository root or, outside
    a repository, the current folder.
    """
    workspace = client_file.project or client_env.projects[-1]
    return editor_variables_of(client_env.environment, client_env.home, workspace)


def with_env_file(make: Callable[[Entry], Target] = parse_target) -> Callable[[Entry], Target]:
    """Return a function like `make` that also reads the variables in the entry's `envFile`."""

    def read(entry: Entry) -> Target:
        target = make(entry)
        if target.url is not None or not entry.has("envFile"):
            return target
        path = (entry.folder or Path()) / Path(entry.text("envFile")).expanduser()
        if entry.folder is not None and not path.resolve().is_relative_to(entry.folder.resolve()):
            raise EntryError("its `envFile` is outside the project")
        entry.added += (f"the variables in {path}",)
        return replace(target, env={**_variables(path), **target.env})

    return read


def _variables(path: Path) -> dict[str, str]:
    """Read the variables from a file with lines `NAME=value`. Values may be quoted. Raises `EntryError`."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            raise EntryError("its `envFile` does not exist, or is too large")
        lines = path.read_bytes().decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise EntryError("its `envFile` cannot be read") from error
    pairs = (line.removeprefix("export ").partition("=") for line in map(str.strip, lines) if line[:1] != "#")
    return {name.strip(): _unquoted(value.strip()) for name, equals, value in pairs if equals}


def _unquoted(value: str) -> str:
    quotes = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quotes else value


def _cursor_files(client_env: ClientEnvironment) -> Iterator[ClientFile]:
    yield from (ClientFile(folder / ".cursor/mcp.json", folder) for folder in client_env.projects)
    yield ClientFile(client_env.home / ".cursor/mcp.json")


def _cursor_servers(
    document: Mapping[str, object], client_file: ClientFile, client_env: ClientEnvironment
) -> Iterator[DeclaredServer]:
    variables = editor_variables(client_file, client_env)
    for name, raw in entries(document, "mcpServers"):
        yield declare_server(name, raw, variables, client_file.project, with_env_file())


def _cursor_link(name: str, fields: Mapping[str, object]) -> str:
    config = b64encode(_compact_json(fields).encode()).decode()
    return (
        "cursor://anysphere.cursor-deeplink/mcp/install"
        f"?name={quote(name, safe='')}&config={quote(config, safe='')}"
    )


def _compact_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


CURSOR = Client(
    "cursor",
    "Cursor",
    _cursor_files,
    _cursor_servers,
    ClientWriter(
        ("mcpServers",),
        lambda _, connection: connection.fields(),
        lambda client_env: [ClientFile(client_env.home / ".cursor/mcp.json")],
        lambda client_env: (client_env.home / ".cursor").is_dir(),
        "restart it, and check in its settings for MCP that the server is enabled",
        PurePosixPath(".cursor/mcp.json"),
        changes=BRACED,
        link=_cursor_link,
    ),
)


def _vscode_files(client_env: ClientEnvironment) -> Iterator[ClientFile]:
    yield from (ClientFile(folder / ".vscode/mcp.json", folder) for folder in client_env.projects)
    yield from (ClientFile(client_env.application_data / edition / "User/mcp.json") for edition in _EDITIONS)


def _vscode_servers(
    document: Mapping[str, object], client_file: ClientFile, client_env: ClientEnvironment
) -> Iterator[DeclaredServer]:
    variables = editor_variables(client_file, client_env)
    for name, raw in entries(document, "servers"):
        yield declare_server(name, raw, variables, client_file.project, with_env_file())


def _vscode_user_files(client_env: ClientEnvironment) -> list[ClientFile]:
    """Return the file of the default profile of each edition that is there, else of the first edition."""
    folders = [client_env.application_data / edition / "User" for edition in _EDITIONS]
    there = [folder for folder in folders if folder.is_dir()]
    return [ClientFile(folder / "mcp.json") for folder in there or folders[:1]]


def _vscode_link(name: str, fields: Mapping[str, object]) -> str:
    return f"vscode:mcp/install?{quote(_compact_json({'name': name, **fields}), safe=_UNESCAPED)}"


VSCODE = Client(
    "vscode",
    "VS Code",
    _vscode_files,
    _vscode_servers,
    ClientWriter(
        ("servers",),
        lambda _, connection: connection.fields(stdio="stdio", http="http"),
        _vscode_user_files,
        lambda client_env: any((client_env.application_data / each).is_dir() for each in _EDITIONS),
        "run `MCP: List Servers` in the Command Palette, start the server and confirm that you trust it",
        PurePosixPath(".vscode/mcp.json"),
        changes=BRACED,
        link=_vscode_link,
    ),
)
