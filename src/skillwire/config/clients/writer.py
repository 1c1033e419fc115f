"""`ClientWriter`: how one MCP client wants a server to be written, and in which file."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from skillwire.config.clients.files import ClientEnvironment, ClientFile

Fields = dict[str, object]
"""The fields of one server's entry in a client's file."""
NEVER = re.compile(r"(?!)")
"""Matches nothing, for clients that change no values."""
BRACED = re.compile(r"\$\{")
"""Matches the start of a variable such as `${NAME}`."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How a client reaches a server: it starts a command, or it connects to a URL."""

    command: tuple[str, ...] = ()
    url: str | None = None

    @classmethod
    def of(cls, command_or_url: Sequence[str] | str) -> "Connection":
        """Return the connection for a URL, or for the words of a command."""
        if isinstance(command_or_url, str):
            return cls(url=command_or_url)
        return cls(tuple(command_or_url))

    def fields(self, url_key: str = "url", *, stdio: str = "", http: str = "") -> Fields:
        """Return `command` and `args`, or the URL at `url_key`. `stdio` and `http` are values of `type`."""
        kind = http if self.url is not None else stdio
        start: Fields = {"type": kind} if kind else {}
        if self.url is not None:
            return {**start, url_key: self.url}
        return {**start, "command": self.command[0], "args": list(self.command[1:])}


def same_name(name: str) -> str:
    """Return `name`. Most clients use a server's name as it is."""
    return name


@dataclass(frozen=True, slots=True)
class ClientWriter:
    """How to write a server into the files of one client."""

    keys: tuple[str, ...]
    """The path of the object that contains the servers."""
    fields: Callable[[str, Connection], Fields | None]
    """Returns the fields of a server's entry, or None if the client cannot use this connection."""
    user_files: Callable[[ClientEnvironment], Sequence[ClientFile]]
    """Returns the user's own files that the server is written to. There is at least one."""
    is_there: Callable[[ClientEnvironment], bool]
    """Returns whether the client seems to be installed, because its folder or file exists."""
    next_step: str
    """What the user has to do next, so that the client starts the server."""
    project_file: PurePosixPath | None = None
    """The path of the client's file in a project; None if it has no file there."""
    project_step: str = ""
    """What else the user has to do if the file is in a project."""
    changes: re.Pattern[str] = NEVER
    """Matches text that the client would replace, such as a variable."""
    key: Callable[[str], str] = same_name
    """Returns the key of a server's entry."""
    link: Callable[[str, Mapping[str, object]], str] | None = None
    """Returns a link that asks the client to add an entry; None if the client has no such links."""
    first: str = ""
    """What the user should do before the file is written."""
    url_note: str = ""
    """What users should know who connect the client to a URL."""
