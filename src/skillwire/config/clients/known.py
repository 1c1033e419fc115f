"""Every server that a file on this machine names, and which of them a person means."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from skillwire.config.clients.base import Client, DeclaredServer
from skillwire.config.clients.claude import CLAUDE_CODE, CLAUDE_DESKTOP
from skillwire.config.clients.codex import CODEX
from skillwire.config.clients.editors import CURSOR, VSCODE
from skillwire.config.clients.files import ClientEnvironment, ClientFileError, Place
from skillwire.config.clients.gemini import GEMINI
from skillwire.config.clients.goose import GOOSE
from skillwire.config.clients.project import PROJECT
from skillwire.core.names import find_close_matches
from skillwire.errors import UsageError
from skillwire.host.connections.addresses import is_plain_http, resolves_to_private
from skillwire.host.connections.labels import is_label, slug, unique_label
from skillwire.host.connections.target import COMMAND, Target
from skillwire.safe_text import quoted

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
ALLOW = "--allow"
"""The option that says of a server in a project's file what a person would say if asked."""


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server that a file names."""

    label: str
    client: Client
    place: Place
    declared: DeclaredServer
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
        return self.place.in_repository and url is not None and is_plain_http(url)

    @property
    def starts_process(self) -> bool:
        return self.declared.target is not None and self.declared.target.url is None

    @property
    def needs_consent(self) -> bool:
        """Whether a person must agree: somebody else may have written what runs, or where a secret goes."""
        return self.place.in_repository and (self.starts_process or bool(self.declared.used))

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
        return "asks first" if self.needs_consent else "ready"


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A file that says nothing, and why."""

    client: Client
    place: Place
    reason: str


@dataclass(frozen=True, slots=True)
class KnownServers:
    """All that the files say."""

    servers: tuple[KnownServer, ...] = ()
    unreadable: tuple[UnreadableFile, ...] = ()
    labels: Mapping[str, KnownServer] = field(default_factory=dict[str, KnownServer])


def known_servers(environment: Mapping[str, str], folder: Path | None = None) -> KnownServers:
    """Return every server that a file names: the person's own files, and those of the project at `folder`.

    One broken file hides no other, and one broken server hides no other in its file.
    """
    client_env = ClientEnvironment.of(environment, folder)
    found: list[tuple[Client, Place, DeclaredServer]] = []
    unreadable: list[UnreadableFile] = []
    for client, place in _files(client_env):
        try:
            named = list(islice(client.servers(place.read(), place, client_env), _MAX_SERVERS + 1))
        except ClientFileError as error:
            unreadable.append(UnreadableFile(client, place, str(error)))
            continue
        if len(named) > _MAX_SERVERS:
            message = f"it names more than {_MAX_SERVERS:,} servers"
            unreadable.append(UnreadableFile(client, place, message))
        found.extend((client, place, each) for each in named[:_MAX_SERVERS])
    own = next((each.client.title for each in unreadable if not each.place.in_repository), "")
    servers = tuple(_assign_labels(found, own))
    return KnownServers(
        servers, tuple(unreadable), {each.label: each for each in servers if not each.same_as}
    )


def _files(client_env: ClientEnvironment) -> Iterator[tuple[Client, Place]]:
    """Yield each file that exists, once, the person's own first: no project can pass for them."""
    places = [(client, place) for client in CLIENTS for place in client.places(client_env)]
    seen: set[Path] = set()
    for client, place in sorted(places, key=lambda each: each[1].in_repository):
        path = place.path.absolute()
        if path not in seen and place.exists():
            seen.add(path)
            yield client, place


def _assign_labels(
    found: Iterable[tuple[Client, Place, DeclaredServer]], unread: str = ""
) -> Iterator[KnownServer]:
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
            if _is_same_server(holder, server):
                yield replace(server, same_as=holder.label)
                continue
            server = _relabel(server, holders, holder.client.title)
        elif unread and place.in_repository:
            server = _relabel(server, holders, unread)
        holders[server.label.casefold()] = server
        yield server


def _relabel(server: KnownServer, taken: Iterable[str], by: str) -> KnownServer:
    """Return a server under a label of its own, because another client has, or may have, the one it wants."""
    label = unique_label(slug(f"{server.label}.{server.client.name}"), set(taken))
    return replace(server, label=label, taken_by=by)


def _is_same_server(one: KnownServer, other: KnownServer) -> bool:
    """Whether two files mean the same server, with the same secrets."""
    if one.target is None or other.target is None:
        return False
    return one.declared.enabled >= other.declared.enabled and _bare(one.target) == _bare(other.target)


def _bare(target: Target) -> Target:
    return replace(target, label="server", spelled="-")


MayReach = Callable[[KnownServer], bool]
"""Whether a person agrees that what a project's file says is done."""


def deny_all(_server: KnownServer) -> bool:
    """There is nobody to ask, so the answer is no."""
    return False


def is_address(argument: str) -> bool:
    """Whether an argument says itself how to reach a server, as a URL or a command."""
    return argument.startswith((COMMAND, "http://", "https://", "mcp+http://", "mcp+https://"))


def parse_label(argument: str) -> str | None:
    """Return the label that an argument may be: `acme`, or `acme:` where it could be something else, too."""
    label = argument.removesuffix(":")
    return label if is_label(label) else None


def targets(
    arguments: Iterable[str],
    environment: Mapping[str, str],
    folder: Path | None = None,
    *,
    may_reach: MayReach = deny_all,
    sending: frozenset[str] = frozenset(),
    known: KnownServers | None = None,
) -> list[Target]:
    """Return how to reach each server that is named. Raises `UsageError`.

    A server that only a file of the project at `folder` names is reached if `may_reach` says so: it could
    start any program, send a secret of this person to anybody, or reach into a private network. `sending` are
    variables whose values will be sent to a URL beside those that the file names.
    """
    known = known_servers(environment, folder) if known is None else known
    chosen: dict[str, Target] = {}
    for argument in arguments:
        if is_address(argument):
            target = Target.parse(argument)
            same = (each.label for each in chosen.values() if each.identity == target.identity)
            taken = {label.casefold() for label in {*known.labels, *chosen} - set(same)}
            target = replace(target, label=unique_label(target.label, taken))
        else:
            target = _known_target(argument, known, may_reach, sending)
        chosen[target.label] = target
    return list(chosen.values())


def _known_target(argument: str, known: KnownServers, may_reach: MayReach, sending: frozenset[str]) -> Target:
    server = known.labels.get(parse_label(argument) or "")
    if server is None:
        raise _unknown(argument, known)
    where = quoted(str(server.place.path), None)
    if not server.declared.enabled:
        hint = f"enable it in {server.client.title}, or name its address instead of its label"
        raise UsageError(f"the server {quoted(server.label)} is disabled in {where}", hint=hint)
    target = server.target
    if target is None:
        message = f"the server {quoted(server.label)} in {where} cannot be reached: {server.declared.problem}"
        raise UsageError(message, hint="mend it there, or name its address instead of its label")
    if target.url is not None:
        server = replace(server, declared=replace(server.declared, used=server.declared.used | sending))
    inside = target.url is not None and server.is_plain_in_repository and resolves_to_private(target.url)
    if inside:
        server = replace(server, inside=True)
        target = replace(target, public_only=False)
    if (server.needs_consent or inside) and not may_reach(server):
        raise UsageError(
            f"{where}, which is part of a project, names {quoted(server.label)}, and nobody agreed that it "
            f"may {describe_danger(server)}",
            hint=f"look at it; if you want that, add `{ALLOW} {server.label}`",
        )
    return target


def describe_danger(server: KnownServer) -> str:
    """Return what would happen if a server of a project's file were reached, as the end of a sentence."""
    if server.starts_process:
        return f"run {quoted(server.declared.spelled, None)}"
    where = quoted(server.declared.spelled, None)
    secrets = ", ".join(quoted(name) for name in sorted(server.declared.used))
    asked = f"send your {secrets} to {where}" if secrets else f"reach {where}"
    return f"{asked}, which is plain `http` in your own network" if server.inside else asked


def _unknown(argument: str, known: KnownServers) -> UsageError:
    close = find_close_matches(argument, known.labels, 1)
    meant = f"did you mean {quoted(close[0])}? " if close else ""
    hint = f"{meant}`skillwire servers` lists them; a URL, or `--` and a command, will do as well"
    return UsageError(f"no file names a server {quoted(parse_label(argument) or argument)}", hint=hint)
