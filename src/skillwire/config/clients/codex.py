"""Codex: `[mcp_servers.NAME]` in `config.toml`, with fields that name the variables of secrets."""

from collections.abc import Iterator, Mapping

from skillwire.config.clients.base import (
    NONE,
    Client,
    DeclaredServer,
    Entry,
    EntryError,
    Variables,
    declared,
    entries,
    with_headers,
)
from skillwire.config.clients.files import ClientEnvironment, Format, Place
from skillwire.host.connections.target import Target


def _places(around: ClientEnvironment) -> Iterator[Place]:
    yield from (Place(folder / ".codex/config.toml", folder, Format.TOML) for folder in around.projects)
    yield Place(around.named("CODEX_HOME", around.home / ".codex") / "config.toml", format=Format.TOML)


def _servers(
    document: Mapping[str, object], place: Place, around: ClientEnvironment
) -> Iterator[DeclaredServer]:
    variables = Variables(NONE, around.environment)
    for name, raw in entries(document, "mcp_servers"):
        yield declared(name, raw, variables, place.project, _target)


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


CODEX = Client("codex", "Codex", _places, _servers)
