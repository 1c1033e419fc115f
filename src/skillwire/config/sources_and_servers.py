"""Divide the arguments of a command into sources and servers."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from skillwire.config.clients.known import KnownServers, known_servers, parse_label
from skillwire.config.source_config import source_parts
from skillwire.config.source_kinds import SCHEME, is_server_url, local_path, names_registry
from skillwire.config.typed_sources import check_spaces, typed_source
from skillwire.errors import UsageError
from skillwire.host.connections.target import COMMAND
from skillwire.protocol.delivery import detect_archive_format
from skillwire.safe_text import quoted

PATHS = (".", "/", "~")
"""The characters with which a path may begin."""


@dataclass(frozen=True, slots=True)
class SourcesAndServers:
    """Arguments of a command, divided into sources and servers."""

    sources: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()

    @classmethod
    def of(cls, arguments: Sequence[str] | None, *, with_token: bool = False) -> "SourcesAndServers":
        """Divide the arguments. `with_token` tells whether servers get a token.

        Raises `UsageError` for an argument that could be both, or is neither.
        """
        check_spaces(arguments or ())
        typed = [
            each if each.startswith(COMMAND) else typed_source(each, with_token=with_token)
            for argument in arguments or ()
            for each in ([argument] if argument.startswith(COMMAND) else source_parts(argument) or [argument])
        ]
        known = cache(
            lambda: known_servers(os.environ)
        )  # read the clients' files only if a label is possible
        servers = [argument for argument in typed if _is_server(argument, known)]
        return cls(tuple(each for each in typed if each not in servers), tuple(servers))


def _is_server(argument: str, known: Callable[[], KnownServers]) -> bool:
    """Return whether an argument names a server.

    A command, a URL that ends in `/mcp` or has the prefix `mcp+`, and a label with a colon (`github:`) name a
    server. A path, the name of an archive, `registry:` and any other URL name a source. A word without a
    colon names a source if it exists as a path, else the server with this label. Raises `UsageError` for such
    a word if it is both, or neither.
    """
    if argument.startswith(COMMAND) or is_server_url(argument):
        return True
    label, explicit = parse_label(argument), argument.endswith(":")
    if label is None or argument.startswith(PATHS) or names_registry(argument):
        return False
    if not explicit and SCHEME.match(argument):
        return False
    exists = not explicit and local_path(argument).exists()
    if exists and label in known().labels:
        raise UsageError(
            f"{quoted(argument)} is both a folder and the label of a server",
            hint=f"write `./{argument}` for the folder, or `{argument}:` for the server",
        )
    if exists or detect_archive_format(argument) is not None:
        return False
    if label not in known().labels and not explicit:
        raise UsageError(
            f"the folder {quoted(argument)} does not exist, and no server has this label",
            hint=f"write `./{argument}` for a folder; `skillwire servers` lists the servers",
        )
    return True
