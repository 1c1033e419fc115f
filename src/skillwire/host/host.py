"""`Host`: discover, approve, verify and load skills from servers and from the user's own sources."""

import os
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any, Self
from weakref import WeakSet

import anyio

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Limits
from skillwire.errors import SkillwireError, UsageError, VerificationError
from skillwire.host.approvals.approval_store import ApprovalStore
from skillwire.host.approvals.consent import Consent
from skillwire.host.approvals.questions import Approver, Changes, Inspection, inspect_entry
from skillwire.host.approve_all import (
    ApprovalOutcome,
    ChangedText,
    approve_all,
    changed_texts,
    keep_texts,
)
from skillwire.host.connections.labels import validate_label
from skillwire.host.connections.target import Target
from skillwire.host.errors import translated_errors
from skillwire.host.hosted_skill import HostedSkill, listed_file, live_uri, requested_tools, unlisted_finding
from skillwire.host.hosted_template import HostedTemplate
from skillwire.host.login.flow import KnownClient, LoginHandler, checked_scopes, log_in
from skillwire.host.login.tokens import keep_login, uses_login, with_login
from skillwire.host.own_problems import MAX_SHOWN, read_own_problems
from skillwire.host.places import Places
from skillwire.host.pull import Destination, pull_skill
from skillwire.host.pull_all import MAX_PULLED_BYTES, OnPulled, PullResult, pull_server
from skillwire.host.registry import Registry
from skillwire.host.search import HostSearch
from skillwire.host.servers.link import ServerLink
from skillwire.host.servers.records import publish, why_not_published
from skillwire.host.servers.source import ServerSource
from skillwire.host.session.session import Session
from skillwire.host.store.state import State
from skillwire.library.search import DEFAULT_LIMIT, Audience, SearchResults
from skillwire.safe_text import quoted
from skillwire.sources.base import Source, WrappedSource
from skillwire.sources.folder.source import FolderSource

PATIENCE = 60.0
"""Default time in which each server or other source must list its skills, in seconds."""


class Host:
    """Finds skills, asks for approval before a server's skill is loaded, and verifies files on every read.

    Use it as an async context manager. No file is read from a server before a skill is loaded or the user
    requests its files (H11).
    """

    def __init__(
        self,
        servers: Iterable[Target] = (),
        folders: Mapping[str, str | os.PathLike[str]] | None = None,
        *,
        sources: Iterable[Source] = (),
        approve: Approver | None = None,
        state: State | None = None,
        drafts: bool = False,
        limits: Limits | None = None,
        timeout_seconds: float = PATIENCE,
        login: LoginHandler | None = None,
    ) -> None:
        """Create a host for servers, the user's own folders by label, and other `sources`.

        Skills from a `ServerSource` need approval. All other `sources` count as the user's own.

        `approve` asks the user. If it is None, every answer is no, so only skills with a stored approval are
        loaded from servers (H30). If `state` is None, nothing is stored. With `drafts`, servers may use
        earlier drafts of the extension. Each source must list its skills within `timeout_seconds`.

        If a server requires a login, the login in the `state` is used, and renewed when needed. A missing
        login is reported as a problem. With `login`, `discover` uses this handler to log the user in.

        Raises `UsageError` if there is a `login` but no `state`, `InvalidValueError` if a label is invalid,
        `ConflictError` if two sources have the same label, and `StateError` if a folder overlaps with the
        folder of the state.
        """
        if login is not None and state is None:
            raise UsageError("a host with `login` needs a `state`", hint="as in `state=State.open(folder)`")
        limits = limits or Limits()
        self._state, self._login = state, login
        self._login_lock, self._login_rounds = anyio.Lock(), 0
        targets = servers if state is None else [with_login(each, state.logins) for each in servers]
        self._links = [ServerLink(target, drafts=drafts, limits=limits) for target in targets]
        own = [
            FolderSource(root, label=validate_label(label), limits=limits)
            for label, root in (folders or {}).items()
        ]
        everything = [*own, *map(ServerSource, self._links), *sources]
        if state is not None:
            for each in everything:
                inner = each
                while isinstance(inner, WrappedSource):
                    inner = inner.source
                if isinstance(
                    inner, FolderSource
                ):  # otherwise, cached files could be found as the user's own skills (H24)
                    state.require_separate(inner.root)
        self._approval_store = ApprovalStore(state)
        self._places = Places(
            everything, self._approval_store, limits, timeout_seconds, self._on_registry_change
        )
        if state is not None and state.damaged is not None:
            message = f"{state.damaged}; {state.damaged.hint}"
            self._places.notes.append(Problem("", Rule.STATE_FAILED, Severity.WARNING, message))
        self._bridged_of: Registry | None = None
        self._bridged_uris: dict[str, Collection[str]] = {}
        self._search = HostSearch(self._places)
        self._approve = approve
        self._sessions: WeakSet[Session] = WeakSet()
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for link in self._links:
            await self._stack.enter_async_context(link)
        for each in self._places.places.values():
            if each.identity is not None:
                await self._bind(each.label, each.identity)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _bind(self, label: str, identity: str) -> None:
        """Bind a label to a server, in the state. Warn if the label was bound to another server."""
        if await self._approval_store.bind(label, identity):
            message = (
                "the label points at another server than before; its approvals and cached files were removed"
            )
            problem = Problem("", Rule.SERVER_CHANGED, Severity.WARNING, message, label=label)
            self._places.notes.append(problem)

    # Discovery

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all folders, servers and other sources, in this order."""
        return tuple(self._places.places)

    @property
    def registry(self) -> Registry:
        """The skills of the last discovery, updated by later lookups, approvals and revocations."""
        return self._places.registry

    async def discover(self) -> Registry:
        """List the skills of all servers and folders. Concurrent callers share one discovery (H29).

        If a server cannot be reached or sends invalid data, the registry contains a problem. The skills from
        all other servers are listed. If the host has a `login` handler, the user is logged in to servers that
        require it, and the skills are listed again.
        """
        registry = await self._places.discover()
        if self._login is None or not self._labels_requiring_login():
            return registry
        rounds = self._login_rounds
        async with self._login_lock:
            if rounds == self._login_rounds:  # otherwise, another task has already asked the user
                await self._log_in_where_needed(self._login)
        return self._places.registry

    def _labels_requiring_login(self) -> set[str]:
        """Return the labels of servers that require a login, except targets that use no stored login."""
        labels = {each.label for each in self._places.registry.problems if each.rule is Rule.LOGIN_REQUIRED}
        return labels - {each.label for each in self._links if not uses_login(each.target)}

    async def _log_in_where_needed(self, handler: LoginHandler) -> None:
        notes = self._places.notes
        labels = self._labels_requiring_login()
        notes[:] = [each for each in notes if each.rule is not Rule.LOGIN_REQUIRED]
        for label in sorted(labels):
            try:
                await self.log_in(label, handler)
            except SkillwireError as error:
                notes.append(Problem("", Rule.LOGIN_REQUIRED, Severity.ERROR, str(error), label=label))
        self._login_rounds += 1
        await self._places.discover()

    async def log_in(
        self,
        label: str,
        handler: LoginHandler,
        *,
        scope: str = "",
        client: KnownClient | None = None,
        allow_private: bool = False,
    ) -> None:
        """Log the user in to a server, and store the login in the state.

        `scope` is requested in addition to the scopes that the server names. `client` is needed for login
        servers that do not register clients. With `allow_private`, a public server may name a login server in
        a private network. Raises `LoginError` or `StateError`. Raises `UsageError` if `scope` is invalid, if
        the host has no state or no target with this label, or if the target has a token or no URL.
        """
        link = next((each for each in self._links if each.label == label), None)
        if link is None or self._state is None:
            hint = "name the server by a `Target`, and give the host a `State`"
            raise UsageError(f"a login to {quoted(label)} cannot be stored", hint=hint)
        if not uses_login(link.target):
            hint = "log in to a `Target` with a URL, without a `token`, `tokens` or `Authorization` header"
            raise UsageError(f"a login to {quoted(label)} would not be used", hint=hint)
        scopes = checked_scopes([scope])
        record = await log_in(link.target, handler, scope=scopes, client=client, allow_private=allow_private)
        await keep_login(self._state.logins, record)

    async def find(self, name: str) -> HostedSkill:
        """Return the skill that `name` refers to. `label:URI` also finds unlisted skills (H3).

        The skills are discovered first if they never were. Raises the errors of `Registry.resolve` and
        `lookup`, and `UnavailableError` if the server in the name could not be listed.
        """
        return await self._places.find(name)

    async def find_file(self, name: str) -> tuple[HostedSkill, str]:
        """Return the skill that `name` refers to, and the path of a file or folder in it.

        The path is empty if `name` refers to the skill itself. Raises the errors of `Registry.find` and
        `lookup`.
        """
        return await self._places.find_file(name)

    async def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        audience: Audience = Audience.EVERYONE,
    ) -> SearchResults:
        """Return the skills of all servers and own sources that match a query, the best first.

        The skills are discovered first if they never were. No file is read from a server: of its skills,
        only the list is searched (H11). Skills that are not approved are found, too, because loading one
        asks. `limit` is the number of results, at most 50. `cursor` continues after an earlier answer. Only
        skills that the `audience` may start are found.

        Show the descriptions as data: a server may have written them. Raises `BadParamsError` for an empty
        query or a wrong cursor or limit.
        """
        if not self._places.has_discovered:
            await self.discover()
        return await self._search.search(query, limit=limit, cursor=cursor, audience=audience)

    async def complete(self, template: HostedTemplate, parameter: str, typed: str = "") -> list[str]:
        """Return values for a parameter of a template: at most 100 that its server suggests.

        For the user's own templates, these are the values that the template lists. Show the values to people
        only, because a server may have written them. The server learns what was typed. Raises `HostError`.
        """
        return await self._places.complete(template, parameter, typed)

    async def lookup(self, label: str, uri: str) -> HostedSkill:
        """Fetch the current version of the skill at `uri`, listed or not, and update the registry (H3).

        Raises `HostError`, or `BadParamsError` if there is no such label.
        """
        return await self._places.lookup(label, uri)

    def declared(self, label: str) -> Mapping[str, Any] | None:
        """Return the extension settings that a server last declared, or None if it declared none (H1).

        Returns None for the user's own sources. Raises `BadParamsError` if there is no such label.
        """
        return self._places.place(label).declared

    # Approval

    async def own_problems(self, limit: int = MAX_SHOWN) -> list[str]:
        """Return the problems that the connected servers themselves report, as escaped lines to print.

        Of each server, at most `limit` problems are returned.
        """
        links = [each for each in self._links if each.declared is not None]
        found: list[str] = []
        for link in links:
            server = "the server" if len(self._links) == 1 else f"the server {quoted(link.label)}"
            found += await read_own_problems(link.read, limit=limit, server=server)
        return found

    async def inspect(self, skill: HostedSkill) -> Inspection:
        """Return everything that is known about a skill without reading any of its files (H11)."""
        return inspect_entry(skill, await self.diff(skill))

    async def diff(self, skill: HostedSkill) -> Changes | None:
        """Return how a skill differs from the version that was approved last, or None if none was (H11).

        Only approvals in the state count, including ended approvals.
        """
        before = await self._approval_store.approved(skill)
        return None if before is None else Changes.between(before, skill)

    def why_not_bridged(self, skill: HostedSkill) -> str:
        """Return why `skillwire bridge` cannot serve a skill, or an empty string if it can."""
        known = self.registry.get(skill.identity)
        if known is not None and known.claim is skill.claim and skill.uri in self._bridged(skill.label):
            return ""
        claims = (each.claim for each in self.registry.templates if each.label == skill.label)
        templates = [each for each in claims if each is not None]
        return why_not_published(skill.label, skill.claimed, self._places.listed(skill.label), templates)

    def _bridged(self, label: str) -> Collection[str]:
        """Return the URIs of the listed skills that a bridge can serve. Computed once for each registry."""
        if self._bridged_of is not self.registry:
            self._bridged_of, self._bridged_uris = self.registry, {}
        if label not in self._bridged_uris:
            listed = self._places.listed(label)
            self._bridged_uris[label] = frozenset(publish(label, listed, {}).skills)
        return self._bridged_uris[label]

    async def with_files(self, skill: HostedSkill) -> HostedSkill:
        """Return a skill with its list of files. For a packed skill, fetch and unpack its archive (H11).

        Call this method at the request of the user, before `inspect`. A skill that is not packed is returned
        unchanged. Raises `HostError` if the archive cannot be fetched, differs from its digest or breaks a
        rule.
        """
        return await self._places.with_files(skill)

    async def approve(self, skill: HostedSkill) -> None:
        """Store the user's approval of exactly this version. For a packed skill, fetch its archive first.

        Raises `UsageError` if the skill is the user's own or its approval cannot be stored. Raises
        `HostError` if the archive cannot be used, and `StateError`.
        """
        if skill.local:
            raise UsageError(f"the skill {skill.quoted} is your own", hint="it needs no approval")
        if not self._approval_store.can_store(skill):
            raise UsageError(
                f"{skill.origin}: an approval of the skill {skill.quoted} cannot be stored",
                hint="the skill needs a digest for every file, and the host needs a `state`",
            )
        await self._approval_store.approve(await self._places.with_files(skill))
        await self._places.refresh_status(skill.identity)

    async def approve_all(self, shown: Sequence[HostedSkill]) -> list[ApprovalOutcome]:
        """Store the user's approval of exactly these versions, and return the outcome for each.

        The servers list their skills again first. A skill that has changed since it was shown is not
        approved. If a skill cannot be approved, the others are still approved.
        """
        return await approve_all(self._places, self._approval_store, shown)

    async def changed_texts(self, skill: HostedSkill) -> AsyncGenerator[ChangedText]:
        """Yield the files that differ from the version that was approved last, with verified bytes.

        Call this method at the request of the user, because it reads files from the server (H11). Without an
        earlier approval, every file is new.
        """
        async with aclosing(changed_texts(self._places, self._approval_store, skill)) as texts:
            async for each in texts:
                yield each

    async def keep_texts(self, skill: HostedSkill) -> int:
        """Keep copies of the text of an approved skill in the state, for later comparison.

        Reads the files from the server, and verifies them. Return how many could not be kept.
        """
        return await keep_texts(self._places, self._approval_store, skill)

    async def revoke(self, skill: HostedSkill) -> None:
        """Revoke the approval of a skill, in the state and in every session of this host.

        The grants of the skill end, too. Raises `StateError`.
        """
        await self._approval_store.revoke(skill)
        for session in self._sessions:
            session.withdraw(skill.identity)
        await self._places.refresh_status(skill.identity)

    async def grant(self, skill: HostedSkill, tools: Iterable[str]) -> None:
        """Let a skill use exactly these tools without asking, as long as its stored approval is valid (H21).

        Without a state, and for the user's own skills, nothing is stored. Raises `UsageError` if the
        frontmatter does not request one of the tools, and `StateError` if no approval of this version is
        stored.
        """
        requested, granted = requested_tools(skill), frozenset(tools)
        if not granted <= requested:
            extra = ", ".join(map(quoted, sorted(granted - requested)))
            raise UsageError(
                f"the skill {skill.quoted} does not request {extra}", hint="grant only what it requests"
            )
        await self._approval_store.grant(skill, granted)

    # Reading for the user

    async def read(self, skill: HostedSkill, path: str) -> bytes:
        """Return one file for the user to look at. This neither loads nor approves the skill (H12).

        `path` is a path or URI. For a packed skill, the archive is fetched. If a skill lists no files, the
        file cannot be verified. Raises `HostError`.
        """
        skill = await self._places.with_files(skill)
        with translated_errors(skill.origin, skill.uri):
            if skill.files is None:
                return await self._places.place(skill.label).read(live_uri(skill, path))
            file = listed_file(skill, path)
        if file is None:
            raise VerificationError(skill.origin, unlisted_finding(skill, path))
        return await self._places.content(skill, file)

    async def pull(
        self,
        skill: HostedSkill,
        dest: str | Path,
        *,
        force: bool = False,
        into_client_folder: bool = False,
        client_folders: Iterable[Path] = (),
    ) -> Path:
        """Verify all files of a skill, and write them to a folder below `dest`. Return that folder (H11).

        With `force`, an existing folder is replaced. Unless `into_client_folder` is true, nothing is written
        below folders that a client loads skills from, such as `.claude/skills` and `client_folders`. Raises
        `UsageError` or `HostError`.
        """
        destination = Destination(Path(dest), into_client_folder, tuple(client_folders))
        skill = await self._places.with_files(skill)
        return await pull_skill(self._places, skill, destination, force=force)

    async def pull_all(
        self,
        label: str,
        dest: str | Path,
        *,
        only: str = "",
        force: bool = False,
        max_bytes: int = MAX_PULLED_BYTES,
        into_client_folder: bool = False,
        client_folders: Iterable[Path] = (),
        on_pulled: OnPulled | None = None,
    ) -> PullResult:
        """Write every known skill of a server, as `pull` does, and return the outcome for each skill.

        A folder that has exactly the listed files is left as it is, so a repeated call continues an
        interrupted one. `only` is a pattern for paths or names, such as `team/*`. `max_bytes` limits the
        bytes that are written for all skills together. `on_pulled` is called after each skill. If a skill
        cannot be pulled, the other skills are still written. Raises `UsageError` if the server has skills,
        and `only` matches none of them. Raises `BadParamsError` if there is no such label.
        """
        if not self._places.has_discovered:
            await self.discover()
        destination = Destination(Path(dest), into_client_folder, tuple(client_folders))
        return await pull_server(
            self._places,
            label,
            destination,
            only=only,
            force=force,
            max_bytes=max_bytes,
            on_pulled=on_pulled,
        )

    # Sessions

    def session(self) -> Session:
        """Return a new session for one conversation, with its own approvals and loaded skills."""
        session = Session(self._places, Consent(self._approve, self._approval_store), self._search)
        self._sessions.add(session)
        return session

    def _on_registry_change(self, registry: Registry) -> None:
        for session in self._sessions:
            session.on_registry_change(registry)
