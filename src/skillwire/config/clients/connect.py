"""Describe, for each client, how a person connects it to a server: the entry, its file, and a link."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skillwire.config.clients.base import Client
from skillwire.config.clients.files import ClientEnvironment
from skillwire.config.clients.known import CLIENTS
from skillwire.config.clients.render import render
from skillwire.config.clients.writer import Connection

DEFAULT_NAME = "skillwire"
"""The name of the entry, unless the user chooses another."""
_GENERIC = ("mcpServers",)
"""Where most clients look for servers in a JSON file."""


@dataclass(frozen=True, slots=True)
class ConnectChoice:
    """How a person connects one client to a server."""

    client: str
    """The client's name on the command line, such as `claude-code`."""
    title: str
    """The client's name for people, such as `Claude Code`."""
    file: str
    """The user's own file for the entry, such as `~/.cursor/mcp.json`."""
    format: str
    """The format of the file: `json`, `toml` or `yaml`."""
    text: str
    """The content of the file if it contained nothing else. Empty if the client cannot use the connection."""
    link: str
    """A link that asks the client to add the entry. Empty if the client has no such links."""
    note: str
    """What else the user should know, such as why `text` is empty. May be empty."""
    next_step: str
    """What the user has to do next."""


def writing_clients() -> dict[str, Client]:
    """Return the clients into whose files an entry can be written, by name."""
    return {client.name: client for client in CLIENTS if client.writer is not None}


def connect_choices(
    command_or_url: Sequence[str] | str,
    name: str = DEFAULT_NAME,
    *,
    platform: str | None = None,
    home: str = "~",
) -> tuple[ConnectChoice, ...]:
    """Return how to connect each client to a server, given its URL or the words of its command.

    Reads and writes no file. `platform` is a value of `sys.platform`; the default is this machine's.
    """
    connection = Connection.of(command_or_url)
    nowhere = ClientEnvironment(Path(home), Path(home), {})
    client_env = nowhere if platform is None else ClientEnvironment(Path(home), Path(home), {}, platform)
    return tuple(_choice(client, connection, name, client_env) for client in writing_clients().values())


def generic_entry(command_or_url: Sequence[str] | str, name: str = DEFAULT_NAME) -> dict[str, object]:
    """Return the entry in the JSON form that most other clients read."""
    fields: object = Connection.of(command_or_url).fields()
    return {_GENERIC[0]: {name: fields}}


def _choice(
    client: Client, connection: Connection, name: str, client_env: ClientEnvironment
) -> ConnectChoice:
    writer = client.writer
    assert writer is not None
    file = writer.user_files(client_env)[0]
    fields = writer.fields(name, connection)
    return ConnectChoice(
        client.name,
        client.title,
        file.path.as_posix(),
        file.format.value.lower(),
        "" if fields is None else render(file.format, writer.keys, writer.key(name), fields),
        "" if fields is None or writer.link is None else writer.link(name, fields),
        writer.url_note if connection.url is not None else "",
        writer.next_step,
    )
