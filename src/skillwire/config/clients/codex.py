"""Codex: `[mcp_servers.NAME]` in `config.toml`. Some fields name environment variables with secrets."""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath, PurePosixPath

from skillwire.config.clients.base import (
    NONE,
    Client,
    DeclaredServer,
    Entry,
    EntryError,
    Variables,
    declare_server,
    entries,
    with_headers,
)
from skillwire.config.clients.files import ClientEnvironment, ClientFile, Format
from skillwire.config.clients.writer import ClientWriter, Connection, Fields
from skillwire.host.connections.target import Target

_DOWNLOADERS = frozenset({"uvx", "uv", "pipx"})
_DOWNLOAD_SECONDS = 60
"""How long Codex waits for a program that may be downloaded first. Its default is 10 seconds."""


def _folder(client_env: ClientEnvironment) -> Path:
    return client_env.named("CODEX_HOME", client_env.home / ".codex")


def _user_file(client_env: ClientEnvironment) -> ClientFile:
    return ClientFile(_folder(client_env) / "config.toml", format=Format.TOML)


def _files(client_env: ClientEnvironment) -> Iterator[ClientFile]:
    yield from (
        ClientFile(folder / ".codex/config.toml", folder, Format.TOML) for folder in client_env.projects
    )
    yield _user_file(client_env)


def _servers(
    document: Mapping[str, object], client_file: ClientFile, client_env: ClientEnvironment
) -> Iterator[DeclaredServer]:
    variables = Variables(NONE, client_env.environment)
    for name, raw in entries(document, "mcp_servers"):
        yield declare_server(name, raw, variables, client_file.project, _target)


def _target(entry: Entry) -> Target:
    if entry.has("command"):
        return entry.program()
    if not entry.has("url"):
        raise EntryError("it has neither `command` nor `url`")
    target = entry.site(headers="http_headers")
    named = entry.plain_mapping("env_http_headers").items()
    headers = {header: entry.variables.value(variable) for header, variable in named}
    if variable := entry.plain("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer {entry.variables.value(variable)}"
    return with_headers(target, headers)


def _fields(_name: str, connection: Connection) -> Fields:
    fields = connection.fields()
    if connection.command and PurePath(connection.command[0]).name in _DOWNLOADERS:
        fields["startup_timeout_sec"] = _DOWNLOAD_SECONDS
    return fields


CODEX = Client(
    "codex",
    "Codex",
    _files,
    _servers,
    ClientWriter(
        ("mcp_servers",),
        _fields,
        lambda client_env: [_user_file(client_env)],
        lambda client_env: _folder(client_env).is_dir(),
        "start a new session; `/mcp` shows the server",
        PurePosixPath(".codex/config.toml"),
        "it uses this file only if you trust the project",
    ),
)
