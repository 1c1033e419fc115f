"""Suggest commands that name a server's skill in the way in which the user named the server."""

import shlex
from collections.abc import Iterable

from skillwire.host.connections.target import Target


def suggest(command: str, handle: str, targets: Iterable[Target]) -> str:
    """Return the command `skillwire COMMAND` for the skill or template with this handle.

    `targets` are the servers of the current command. If the user typed the URL or command of the skill's
    server, the suggestion contains it too, because the label alone would not identify the server.
    """
    found = (each for each in targets if handle.startswith(f"{each.label}:"))
    target = max(found, key=lambda each: len(each.label), default=None)
    if target is None or not target.typed:
        return f"skillwire {command} {shlex.quote(handle)}"
    name = shlex.quote(handle.removeprefix(f"{target.label}:"))
    server = f"-- {target.as_written}" if target.url is None else f"--from {shlex.quote(target.as_written)}"
    return f"skillwire {command} {name} {server}"
