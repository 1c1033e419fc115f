"""Codex: `[mcp_servers.NAME]` in `config.toml`. Some fields name environment variables with secrets."""

from collections.abc import Iterator, Mapping

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
from skillwire.host.connections.target import Target


def _files(client_env: ClientEnvironment) -> Iterator[ClientFile]:
    yield from (
        ClientFile(folder / ".codex/config.toml", folder, Format.TOML) for folder in client_env.projects
    )
    yield ClientFile(
        client_env.named("CODEX_HOME", client_env.home / ".codex") / "config.toml", format=Format.TOML
    )


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


CODEX = Client("codex", "Codex", _files, _servers)
