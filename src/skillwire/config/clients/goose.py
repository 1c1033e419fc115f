"""Goose: the MCP servers among the `extensions` in `config.yaml`. Goose keeps secrets outside this file."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from skillwire.config.clients.base import (
    BRACES_AND_BARE,
    NONE,
    OLD_TRANSPORT,
    Client,
    DeclaredServer,
    Entry,
    EntryError,
    Variables,
    declare_server,
    entries,
    with_headers,
)
from skillwire.config.clients.files import ClientEnvironment, ClientFile, Format, as_object
from skillwire.config.clients.writer import ClientWriter, Connection, Fields
from skillwire.host.connections.target import Target
from skillwire.safe_text import quoted

_SERVERS = frozenset({"stdio", "streamable_http", "sse"})
"""Types of extensions that are MCP servers. The other types are built into Goose."""
_DESCRIPTION = "Agent Skills"
_TIMEOUT_SECONDS = 300


def _files(client_env: ClientEnvironment) -> Iterator[ClientFile]:
    folder = client_env.application_data / "Block/goose/config"
    base = folder if client_env.platform == "win32" else client_env.configuration / "goose"
    yield ClientFile(base / "config.yaml", format=Format.YAML)


def _servers(
    document: Mapping[str, object], _client_file: ClientFile, client_env: ClientEnvironment
) -> Iterator[DeclaredServer]:
    for name, raw in entries(document, "extensions"):
        if as_object(raw).get("type") in _SERVERS:
            yield declare_server(name, raw, Variables(NONE, client_env.environment), make=_target)


def _target(entry: Entry) -> Target:
    kind = entry.plain("type")
    if kind == "sse":
        raise EntryError(OLD_TRANSPORT)
    envs = entry.plain_mapping("envs")
    for name in entry.plain_list("env_keys"):
        if name not in envs and name not in entry.variables.environment:
            raise EntryError(f"the variable {quoted(name)} is stored in Goose, and is not set here")
    if kind == "stdio":
        return entry.program("cmd", "envs")
    known = {**entry.variables.environment, **envs}
    headers = Variables(BRACES_AND_BARE, known, used=entry.variables.used)
    texts = entry.plain_mapping("headers").items()
    target = entry.site("uri", headers="")
    return with_headers(replace(target, headers={}), {name: headers.expand(text) for name, text in texts})


def _fields(name: str, connection: Connection) -> Fields:
    reach: Fields = {"type": "streamable_http", "uri": connection.url}
    if connection.url is None:
        reach = {"type": "stdio", "cmd": connection.command[0], "args": list(connection.command[1:])}
    return {
        "name": name,
        "enabled": True,
        **reach,
        "envs": {},
        "env_keys": [],
        **({} if connection.url is None else {"headers": {}}),
        "description": _DESCRIPTION,
        "timeout": _TIMEOUT_SECONDS,
    }


def _key(name: str) -> str:
    """Return the key that Goose derives from the name of an extension."""
    joined = "".join(name.split()).lower()
    return "".join(each if re.fullmatch(r"[a-z0-9_-]", each) else "_" for each in joined)


GOOSE = Client(
    "goose",
    "Goose",
    _files,
    _servers,
    ClientWriter(
        ("extensions",),
        _fields,
        lambda client_env: list(_files(client_env)),
        lambda client_env: any(each.path.parent.is_dir() for each in _files(client_env)),
        "start a new session",
        key=_key,
    ),
)
