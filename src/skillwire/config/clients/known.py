"""Every server that a file on this machine names, each under a label of its own."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from skillwire.config.clients.claude_code import CLAUDE_CODE
from skillwire.config.clients.claude_desktop import CLAUDE_DESKTOP
from skillwire.config.clients.client import Client
from skillwire.config.clients.codex import CODEX
from skillwire.config.clients.cursor import CURSOR
from skillwire.config.clients.declared import Declared
from skillwire.config.clients.document import Place, UnreadableError
from skillwire.config.clients.gemini import GEMINI
from skillwire.config.clients.goose import GOOSE
from skillwire.config.clients.project import PROJECT
from skillwire.config.clients.surroundings import Surroundings
from skillwire.config.clients.vscode import VSCODE
from skillwire.host.reaching.inside import is_plain
from skillwire.host.reaching.slug import free_label, slug
from skillwire.host.reaching.target import Target

CLIENTS: tuple[Client, ...] = (
    CLAUDE_CODE,
    CLAUDE_DESKTOP,
    VSCODE,
    CURSOR,
    CODEX,
    GEMINI,
    GOOSE,
    PROJECT,
)
_MAX_SERVERS = 1000
"""Servers that are taken of one file."""


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server that a file names."""

    label: str
    client: Client
    place: Place
    declared: Declared
    same_as: str = ""
    """The label under which another file names the very same server."""
    inside: bool = False
    """Whether its URL was found to lead to this machine or into a private network."""
    taken_by: str = ""
    """The client that has the label it would have had."""

    @property
    def target(self) -> Target | None:
        """How to reach it; None if that cannot be known."""
        target = self.declared.target
        if target is None:
            return None
        return replace(target, label=self.label, public_only=self.is_plain_in_repository)

    @property
    def is_plain_in_repository(self) -> bool:
        """Whether a project's file names a URL of plain `http`: then it must not be in a private network."""
        url = None if self.declared.target is None else self.declared.target.url
        return self.place.in_repository and url is not None and is_plain(url)

    @property
    def starts_a_program(self) -> bool:
        return self.declared.target is not None and self.declared.target.url is None

    @property
    def asks_first(self) -> bool:
        """Whether a person must agree: somebody else may have written what runs, or where a secret goes."""
        return self.place.in_repository and (self.starts_a_program or bool(self.declared.used))

    @property
    def ready(self) -> bool:
        """Whether it can be reached, if nobody minds."""
        return self.declared.enabled and self.declared.target is not None and not self.same_as

    @property
    def state(self) -> str:
        """Whether it can be asked for skills, in a few words."""
        if not self.declared.enabled:
            return "disabled"
        if self.declared.problem:
            return self.declared.problem
        if self.same_as:
            return f"the same as `{self.same_as}`"
        return "asks first" if self.asks_first else "ready"


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A file that says nothing, and why."""

    client: Client
    place: Place
    reason: str


@dataclass(frozen=True, slots=True)
class Known:
    """All that the files say."""

    servers: tuple[KnownServer, ...] = ()
    unreadable: tuple[UnreadableFile, ...] = ()
    labels: Mapping[str, KnownServer] = field(default_factory=dict[str, KnownServer])


def known_servers(environment: Mapping[str, str], folder: Path | None = None) -> Known:
    """Return every server that a file names: the person's own files, and those of the project at `folder`.

    One broken file hides no other, and one broken server hides no other in its file.
    """
    around = Surroundings.of(environment, folder)
    found: list[tuple[Client, Place, Declared]] = []
    unreadable: list[UnreadableFile] = []
    for client, place in _files(around):
        try:
            named = list(islice(client.servers(place.read(), place, around), _MAX_SERVERS + 1))
        except UnreadableError as error:
            unreadable.append(UnreadableFile(client, place, str(error)))
            continue
        if len(named) > _MAX_SERVERS:
            told = f"it names more than {_MAX_SERVERS:,} servers"
            unreadable.append(UnreadableFile(client, place, told))
        found.extend((client, place, each) for each in named[:_MAX_SERVERS])
    own = next((each.client.title for each in unreadable if not each.place.in_repository), "")
    servers = tuple(_labelled(found, own))
    return Known(servers, tuple(unreadable), {each.label: each for each in servers if not each.same_as})


def _files(around: Surroundings) -> Iterator[tuple[Client, Place]]:
    """Yield each file that exists, once, the person's own first: no project can pass for them."""
    places = [(client, place) for client in CLIENTS for place in client.places(around)]
    seen: set[Path] = set()
    for client, place in sorted(places, key=lambda each: each[1].in_repository):
        path = place.path.absolute()
        if path not in seen and place.exists():
            seen.add(path)
            yield client, place


def _labelled(found: Iterable[tuple[Client, Place, Declared]], unread: str = "") -> Iterator[KnownServer]:
    """Give each server a label. Whose file it is counts first: a label of the person's own is never taken.

    `unread` is a client whose file of the person's own cannot be read: nobody knows which labels it has.
    """
    holders: dict[str, KnownServer] = {}
    for client, place, declared in sorted(
        found, key=lambda each: (each[1].in_repository, not each[2].enabled)
    ):
        label = slug(declared.name)
        server = KnownServer(label, client, place, declared)
        if (holder := holders.get(label.casefold())) is not None:
            if _same(holder, server):
                yield replace(server, same_as=holder.label)
                continue
            server = _elsewhere(server, holders, holder.client.title)
        elif unread and place.in_repository:
            server = _elsewhere(server, holders, unread)
        holders[server.label.casefold()] = server
        yield server


def _elsewhere(server: KnownServer, taken: Iterable[str], by: str) -> KnownServer:
    """Return a server under a label of its own, because another client has, or may have, the one it wants."""
    label = free_label(slug(f"{server.label}.{server.client.name}"), set(taken))
    return replace(server, label=label, taken_by=by)


def _same(one: KnownServer, other: KnownServer) -> bool:
    """Whether two files mean the same server, with the same secrets."""
    if one.target is None or other.target is None:
        return False
    return one.declared.enabled >= other.declared.enabled and _bare(one.target) == _bare(other.target)


def _bare(target: Target) -> Target:
    return replace(target, label="server", spelled="-")
