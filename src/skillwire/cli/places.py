"""What a person means by an argument: a source of skills, or a server of them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from skillwire.cli.find import Found, find_skill
from skillwire.cli.missing import NoSuchSkillError
from skillwire.config.clients.choosing import label_in
from skillwire.config.clients.known import Known, known_servers
from skillwire.config.kinds import SCHEME, local_path
from skillwire.host.reaching.label import is_label
from skillwire.host.reaching.target import COMMAND
from skillwire.model.display import quoted
from skillwire.model.errors import UsageError
from skillwire.wire.archive_form import archive_form

_SERVERS = (COMMAND, "mcp+http://", "mcp+https://")


@dataclass(frozen=True, slots=True)
class Places:
    """Where to look for skills."""

    sources: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()

    @classmethod
    def of(cls, arguments: Sequence[str] | None) -> "Places":
        """Return which of the arguments are servers. Raises `UsageError` where one may be both."""
        known = cache(lambda: known_servers(os.environ))  # which nobody needs who names folders
        servers = [argument for argument in arguments or () if _is_server(argument, known)]
        return cls(tuple(each for each in arguments or () if each not in servers), tuple(servers))


def _is_server(argument: str, known: Callable[[], Known]) -> bool:
    """Whether an argument means a server.

    What begins with `.`, `/` or `~`, or exists, is a source, and so is an address that does not say that it
    is a server's. Else it is the label of a server. Raises `UsageError` where it may be both.
    """
    if argument.startswith(_SERVERS):
        return True
    label, meant = label_in(argument), argument.endswith(":")
    if label is None or argument.startswith((".", "/", "~")):
        return False
    if not meant and SCHEME.match(argument):
        return False
    exists = not meant and local_path(argument).exists()
    if exists and label in known().labels:
        raise UsageError(
            f"{quoted(argument)} is both a folder and a server",
            hint=f"write `./{argument}` for the folder, or `{argument}:` for the server",
        )
    if exists or archive_form(argument) is not None:
        return False
    if label not in known().labels and not meant:
        raise UsageError(
            f"the folder {quoted(argument)} does not exist, and no file names a server of that name",
            hint=f"a folder is written `./{argument}`; `skillwire servers` lists the servers",
        )
    return True


def local_or_servers(
    skill: str, arguments: Sequence[str] | None, *, follow_links: bool = False
) -> Found | tuple[str, ...]:
    """Return a skill of a source, or the servers to look for it on.

    A server's skill never stands in for one of the person's own (H10). Raises `UsageError` or
    `NoSuchSkillError`.
    """
    places = Places.of(arguments)
    if (label := label_of(skill)) is not None:
        return places.servers or (f"{label}:",)
    is_path = skill.startswith((".", "/", "~"))
    if places.servers and not places.sources and not is_path:
        return places.servers
    try:
        return find_skill(skill, places.sources, follow_links=follow_links)
    except NoSuchSkillError:
        if not places.servers or is_path:
            raise
        return places.servers


def label_of(skill: str) -> str | None:
    """Return the label in `label:name` and `label:URI`; None if a skill is not spelled so."""
    label, colon, rest = skill.partition(":")
    spelled_so = colon and rest and not rest.startswith("//") and is_label(label)
    return label if spelled_so and not Path(skill).exists() else None
