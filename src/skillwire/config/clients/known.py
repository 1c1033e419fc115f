"""Find the servers in the configuration files of MCP clients, and select them by label."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from skillwire.config.clients.base import Client, DeclaredServer
from skillwire.config.clients.claude import CLAUDE_CODE, CLAUDE_DESKTOP
from skillwire.config.clients.codex import CODEX
from skillwire.config.clients.editors import CURSOR, VSCODE
from skillwire.config.clients.files import ClientEnvironment, ClientFile, ClientFileError
from skillwire.config.clients.gemini import GEMINI
from skillwire.config.clients.goose import GOOSE
from skillwire.config.clients.project import PROJECT
from skillwire.config.clients.windsurf import WINDSURF
from skillwire.config.program_hint import program_hint
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
    WINDSURF,
    PROJECT,
)
_MAX_SERVERS = 1000
"""Maximum number of servers read from one file."""
ALLOW = "--allow"
"""The option that gives consent for a server in a project's file."""


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server in a client's file, with its label."""

    label: str
    client: Client
    file: ClientFile
    declared: DeclaredServer
    same_as: str = ""
    """The label of an earlier entry for the same server; empty if there is none."""
    inside: bool = False
    """Whether the server's URL resolves to a loopback address or a private network."""
    taken_by: str = ""
    """The client whose server has, or may have, the label that this server would get; else empty."""

    @property
    def target(self) -> Target | None:
        """The target of the server; None if its entry has a problem."""
        target = self.declared.target
        if target is None:
            return None
        return replace(target, label=self.label, public_only=self.is_plain_in_project)

    @property
    def is_plain_in_project(self) -> bool:
        """Whether the server has an `http` URL in a project's file.

        Such a server must not be in a private network, unless the user agrees.
        """
        url = None if self.declared.target is None else self.declared.target.url
        return self.file.in_project and url is not None and is_plain_http(url)

    @property
    def starts_process(self) -> bool:
        return self.declared.target is not None and self.declared.target.url is None

    @property
    def needs_consent(self) -> bool:
        """Whether the user must agree, because a project's file starts a program or sends secrets."""
        return self.file.in_project and (self.starts_process or bool(self.declared.used))

    @property
    def ready(self) -> bool:
        """Whether the server is enabled, has a target and is not a duplicate. Consent may still be needed."""
        return self.declared.enabled and self.declared.target is not None and not self.same_as

    @property
    def state(self) -> str:
        """`ready`, `asks first`, `disabled`, or why the server cannot be used."""
        if not self.declared.enabled:
            return "disabled"
        if self.declared.problem:
            return self.declared.problem
        if self.same_as:
            return f"the same as `{self.same_as}`"
        return "asks first" if self.needs_consent else "ready"


@dataclass(frozen=True, slots=True)
class UnreadableFile:
    """A file that cannot be read or names too many servers, and the reason."""

    client: Client
    file: ClientFile
    reason: str


@dataclass(frozen=True, slots=True)
class KnownServers:
    """All servers in clients' files, and the files that cannot be read."""

    servers: tuple[KnownServer, ...] = ()
    unreadable: tuple[UnreadableFile, ...] = ()
    labels: Mapping[str, KnownServer] = field(default_factory=dict[str, KnownServer])
    """The servers by label, without duplicate entries."""


def known_servers(environment: Mapping[str, str], folder: Path | None = None) -> KnownServers:
    """Return the servers in the user's own files and in the files of the project at `folder`.

    A broken file does not hide other files, and a broken entry does not hide other servers.
    """
    client_env = ClientEnvironment.of(environment, folder)
    found: list[tuple[Client, ClientFile, DeclaredServer]] = []
    unreadable: list[UnreadableFile] = []
    for client, client_file in _files(client_env):
        try:
            named = list(
                islice(client.servers(client_file.read(), client_file, client_env), _MAX_SERVERS + 1)
            )
        except ClientFileError as error:
            unreadable.append(UnreadableFile(client, client_file, str(error)))
            continue
        if len(named) > _MAX_SERVERS:
            message = f"it names more than {_MAX_SERVERS:,} servers"
            unreadable.append(UnreadableFile(client, client_file, message))
        found.extend((client, client_file, each) for each in named[:_MAX_SERVERS])
    own = next((each.client.title for each in unreadable if not each.file.in_project), "")
    servers = tuple(_assign_labels(found, own))
    return KnownServers(
        servers, tuple(unreadable), {each.label: each for each in servers if not each.same_as}
    )


def _files(client_env: ClientEnvironment) -> Iterator[tuple[Client, ClientFile]]:
    """Yield each existing file once. The user's own files come first, so that no project can replace them."""
    named = [(client, client_file) for client in CLIENTS for client_file in client.files(client_env)]
    seen: set[Path] = set()
    for client, client_file in sorted(named, key=lambda each: each[1].in_project):
        path = client_file.path.absolute()
        if path not in seen and client_file.exists():
            seen.add(path)
            yield client, client_file


def _assign_labels(
    found: Iterable[tuple[Client, ClientFile, DeclaredServer]], unread: str = ""
) -> Iterator[KnownServer]:
    """Yield each server with a label.

    A project's server never gets the label of a server in the user's own files. `unread` is the title of a
    client for which the user's own file cannot be read. The labels in that file are unknown, so a project's
    servers get labels that cannot collide with them.
    """
    holders: dict[str, KnownServer] = {}
    for client, client_file, declared in sorted(
        found, key=lambda each: (each[1].in_project, not each[2].enabled)
    ):
        label = slug(declared.name)
        server = KnownServer(label, client, client_file, declared)
        if (holder := holders.get(label.casefold())) is not None:
            if _is_same_server(holder, server):
                yield replace(server, same_as=holder.label)
                continue
            server = _relabel(server, holders, holder.client.title)
        elif unread and client_file.in_project:
            server = _relabel(server, holders, unread)
        holders[server.label.casefold()] = server
        yield server


def _relabel(server: KnownServer, taken: Iterable[str], by: str) -> KnownServer:
    """Return the server with a unique label, because a server of the client `by` may have its label."""
    label = unique_label(slug(f"{server.label}.{server.client.name}"), set(taken))
    return replace(server, label=label, taken_by=by)


def _is_same_server(one: KnownServer, other: KnownServer) -> bool:
    """Return whether two entries describe the same server with the same secrets.

    Return False if only `other` is enabled.
    """
    if one.target is None or other.target is None:
        return False
    return one.declared.enabled >= other.declared.enabled and _without_label(one.target) == _without_label(
        other.target
    )


def _without_label(target: Target) -> Target:
    return replace(target, label="server", as_written="-")


MayReach = Callable[[KnownServer], bool]
"""A function that returns whether the user agrees to contact a server in a project's file."""


def deny_all(_server: KnownServer) -> bool:
    """Refuse every server. Used if no one can be asked."""
    return False


def is_address(argument: str) -> bool:
    """Return whether an argument is a server's URL or command instead of a label."""
    return argument.startswith((COMMAND, "http://", "https://", "mcp+http://", "mcp+https://"))


def parse_label(argument: str) -> str | None:
    """Return the label in `acme` or `acme:`, or None if the argument cannot be a label."""
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
    """Return the target of each named server. Raises `UsageError`.

    A server in a file of the project at `folder` could start any program, receive the user's secrets, or be
    in a private network. In these cases, `may_reach` decides. `sending` names further variables whose values
    will be sent to the server's URL, besides the variables in the file.
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
    where = quoted(str(server.file.path), None)
    if not server.declared.enabled:
        hint = f"enable it in {server.client.title}, or give its URL or command instead of its label"
        raise UsageError(f"the server {quoted(server.label)} is disabled in {where}", hint=hint)
    target = server.target
    if target is None:
        message = f"the server {quoted(server.label)} in {where} cannot be used: {server.declared.problem}"
        raise UsageError(message, hint="fix it there, or give its URL or command instead of its label")
    if target.url is not None:
        server = replace(server, declared=replace(server.declared, used=server.declared.used | sending))
    inside = target.url is not None and server.is_plain_in_project and resolves_to_private(target.url)
    if inside:
        server = replace(server, inside=True)
        target = replace(target, public_only=False)
    if (server.needs_consent or inside) and not may_reach(server):
        raise UsageError(
            f"{where} is part of a project and names {quoted(server.label)}; no one agreed that it "
            f"may {describe_danger(server)}",
            hint=f"check the file; to allow it, add `{ALLOW} {server.label}`",
        )
    return target


def describe_danger(server: KnownServer) -> str:
    """Return what contacting a server in a project's file would do, as the end of a sentence."""
    if server.starts_process:
        return f"run {quoted(server.declared.as_written, None)}"
    where = quoted(server.declared.as_written, None)
    secrets = ", ".join(quoted(name) for name in sorted(server.declared.used))
    action = f"send your {secrets} to {where}" if secrets else f"reach {where}"
    return f"{action}, which is unencrypted `http` in your own network" if server.inside else action


def _unknown(argument: str, known: KnownServers) -> UsageError:
    if hint := program_hint(argument):
        return UsageError(f"{quoted(argument)} is a program, not the label of a server", hint=hint)
    close = find_close_matches(argument, known.labels, 1)
    meant = f"did you mean {quoted(close[0])}? " if close else ""
    hint = f"{meant}`skillwire servers` lists all servers; a URL, or `--` and a command, works as well"
    return UsageError(f"no client has a server {quoted(parse_label(argument) or argument)}", hint=hint)
