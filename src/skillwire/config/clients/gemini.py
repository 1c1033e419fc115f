"""Gemini CLI: `.gemini/settings.json` in a project or the home directory, with variables such as `$NAME`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import cast

from skillwire.config.clients.base import (
    BRACES_AND_BARE,
    Client,
    DeclaredServer,
    Entry,
    Variables,
    declare_server,
    entries,
    parse_target,
)
from skillwire.config.clients.files import ClientEnvironment, ClientFile
from skillwire.config.clients.writer import ClientWriter
from skillwire.host.connections.target import Target

_CHANGED = re.compile(r"\$[\w{]|%[A-Za-z_]\w*%")
"""Matches variables. `%NAME%` is one on Windows only."""


def _files(client_env: ClientEnvironment) -> Iterator[ClientFile]:
    yield from (ClientFile(folder / ".gemini/settings.json", folder) for folder in client_env.projects)
    yield ClientFile(client_env.home / ".gemini/settings.json")


def _servers(
    document: Mapping[str, object], client_file: ClientFile, client_env: ClientEnvironment
) -> Iterator[DeclaredServer]:
    variables = Variables(BRACES_AND_BARE, client_env.environment)
    lists = dict(entries(document, "mcp"))
    allowed, excluded = (_names(lists.get(key)) for key in ("allowed", "excluded"))
    for name, raw in entries(document, "mcpServers"):
        found = declare_server(name, raw, variables, client_file.project, _target)
        is_allowed = (allowed is None or name in allowed) and name not in (excluded or ())
        yield replace(found, enabled=found.enabled and is_allowed)


def _target(entry: Entry) -> Target:
    return entry.site("httpUrl") if entry.has("httpUrl") else parse_target(entry)


def _names(value: object) -> list[object] | None:
    return cast("list[object]", value) if isinstance(value, list) else None


GEMINI = Client(
    "gemini",
    "Gemini CLI",
    _files,
    _servers,
    ClientWriter(
        ("mcpServers",),
        lambda _, connection: connection.fields("httpUrl"),
        lambda client_env: [ClientFile(client_env.home / ".gemini/settings.json")],
        lambda client_env: (client_env.home / ".gemini").is_dir(),
        "start a new session in a folder that you trust; `/mcp` shows the server",
        PurePosixPath(".gemini/settings.json"),
        changes=_CHANGED,
    ),
)
