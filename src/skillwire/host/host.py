"""The host: folders and servers under labels of its own, and one registry of their skills."""

import os
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Self
from weakref import WeakSet

import anyio

from skillwire.host.approval import Approver
from skillwire.host.changes import Changes
from skillwire.host.client import Listing
from skillwire.host.connected import ConnectedServer
from skillwire.host.consent import Consent
from skillwire.host.folder import FolderProvider
from skillwire.host.hosted import HostedSkill, Identity, origin_of
from skillwire.host.inspection import Inspection, inspected
from skillwire.host.keeping import Keeping
from skillwire.host.label import checked_label
from skillwire.host.link import ServerLink
from skillwire.host.paths import listed_file, unlisted
from skillwire.host.permissions import wanted_tools
from skillwire.host.provider import Provider
from skillwire.host.pull import pulled
from skillwire.host.refusing import HostError, VerificationError, told_of
from skillwire.host.registry import HostProblem, Registry
from skillwire.host.session import Session
from skillwire.host.state.state import State
from skillwire.host.target import Target
from skillwire.model.display import quoted
from skillwire.model.errors import BadParamsError, ConflictError, UsageError
from skillwire.model.limits import Limits
from skillwire.wire.messages import SKILLS_GET, SKILLS_LIST
from skillwire.wire.remote import RemoteFile, RemoteSkill
from skillwire.wire.verify import file_faults

PATIENCE = 60.0
"""Seconds that one server has to list its skills."""


class Host:
    """Finds skills, asks before they are used, and verifies whatever is read. Use it as a context manager.

    Nothing is read from a server until somebody loads a skill, or a person asks for its files (H11).
    """

    def __init__(
        self,
        servers: Iterable[Target] = (),
        folders: Mapping[str, str | os.PathLike[str]] | None = None,
        *,
        providers: Iterable[Provider] = (),
        approve: Approver | None = None,
        state: State | None = None,
        drafts: bool = False,
        limits: Limits | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """Take servers by their targets, the person's own folders by their labels, and any other `providers`.

        `approve` asks a person; without it, no skill of a server is loaded (H30). Without a `state`, nothing
        is kept after this host is gone. With `drafts`, servers may speak dialects from before the extension.
        """
        self.limits = limits or Limits()
        self.registry = Registry()
        self._links = [ServerLink(target, drafts=drafts, limits=self.limits) for target in servers]
        own = [FolderProvider(label, root, self.limits) for label, root in (folders or {}).items()]
        self._providers = _by_label([*own, *self._links, *providers])
        if state is not None:
            for root in (folders or {}).values():
                state.keep_apart(Path(root))
        self._approve = approve
        self._keeping = Keeping(state)
        self._patience = patience
        self._sessions: WeakSet[Session] = WeakSet()
        self._looked_up: dict[Identity, RemoteSkill] = {}
        self._discovering = anyio.Lock()
        self._rounds = 0
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for link in self._links:
            await self._keeping.bind(link.label, link.target.identity)
            await self._stack.enter_async_context(link)
        for each in self._providers.values():
            if isinstance(each, ConnectedServer) and each.identity is not None:
                await self._keeping.bind(each.label, each.identity)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def labels(self) -> tuple[str, ...]:
        """Every place, the person's own first."""
        return tuple(self._providers)

    # Finding

    async def discover(self) -> Registry:
        """List every place at once, and return what there is. Many who ask at once share one look (H29).

        A place that cannot be reached, or says what makes no sense, is a problem beside the skills of others.
        """
        seen = self._rounds
        async with self._discovering:
            if self._rounds == seen:  # else somebody looked while we waited
                listings: dict[str, Listing | HostProblem] = {}
                async with anyio.create_task_group() as tasks:
                    for provider in self._providers.values():
                        tasks.start_soon(self._list, provider, listings)
                await self._take({label: listings[label] for label in self._providers})
                self._rounds += 1
        return self.registry

    async def find(self, name: str) -> HostedSkill:
        """Return the skill that `name` means; `label:URI` also if no list has it (H3).

        Raises what `Registry.resolve` and `lookup` raise.
        """
        if self._rounds == 0:
            await self.discover()
        label, _, uri = name.partition(":")
        if label in self._providers and "://" in uri and self.registry.get((label, uri)) is None:
            return await self.lookup(label, uri)
        return self.registry.resolve(name)

    async def lookup(self, label: str, uri: str) -> HostedSkill:
        """Return the skill at `uri` as its place has it now, listed or not (H3, H15). Raises `HostError`."""
        provider = self.provider(label)
        with told_of(origin_of(label, local=provider.local), SKILLS_GET):
            skill = await provider.get(uri)
        self._looked_up[label, uri] = skill
        hosted = HostedSkill(label, provider.local, skill)
        self._swap(self.registry.having(await self._judged(hosted)))
        return self.registry.skill((label, uri))

    # Judging

    async def inspect(self, skill: HostedSkill) -> Inspection:
        """Return all that can be said of a skill without reading a file of it (H11)."""
        return inspected(skill, await self.diff(skill))

    async def diff(self, skill: HostedSkill) -> Changes | None:
        """Return in what it differs from the version that was approved; None if none was (H11)."""
        before = await self._keeping.approved(skill)
        return None if before is None else Changes.between(before, skill.skill)

    async def approve(self, skill: HostedSkill) -> None:
        """Keep a person's approval of this very version. Raises `UsageError` where that cannot be."""
        if skill.local:
            raise UsageError(f"{skill.quoted} is your own", hint="it needs no approval")
        if not self._keeping.can_keep(skill):
            raise UsageError(
                f"{skill.origin}: an approval of {skill.quoted} cannot be kept",
                hint="it needs a digest for every file, and a host that has a state",
            )
        await self._keeping.approve(skill)
        await self._judge_again(skill.identity)

    async def revoke(self, skill: HostedSkill) -> None:
        """Take an approval back, here and in every session."""
        await self._keeping.revoke(skill)
        for session in self._sessions:
            session.withdraw(skill.identity)
        await self._judge_again(skill.identity)

    async def grant(self, skill: HostedSkill, tools: Iterable[str]) -> None:
        """Let a skill use tools that its frontmatter asks for, as long as it stays what it is (H21)."""
        wanted, given = wanted_tools(skill.skill), frozenset(tools)
        if not given <= wanted:
            extra = ", ".join(map(quoted, sorted(given - wanted)))
            raise UsageError(
                f"{skill.quoted} does not ask for {extra}", hint="grant what it asks for, or less"
            )
        await self._keeping.grant(skill, given)

    # Reading, for a person

    async def read(self, skill: HostedSkill, path: str) -> bytes:
        """Return one file for a person to look at. It is no load: nothing is approved by it (H12)."""
        with told_of(skill.origin, skill.skill.uri):
            file = listed_file(skill.skill, path)
        if file is None:
            raise VerificationError(skill.origin, unlisted(skill.skill, path))
        return await self.content(skill, file)

    async def pull(self, skill: HostedSkill, dest: Path) -> Path:
        """Write all files of a skill below `dest`, each verified, and return its folder (H11)."""
        return await pulled(self, skill, dest)

    # For sessions

    def session(self) -> Session:
        """Return a new conversation: with its own approvals, and its own skills in context."""
        session = Session(self, Consent(self._approve, self._keeping))
        self._sessions.add(session)
        return session

    def provider(self, label: str) -> Provider:
        if (provider := self._providers.get(label)) is None:
            known = ", ".join(map(quoted, self._providers)) or "none"
            raise BadParamsError(f"there is no server {quoted(label)}; there are {known}")
        return provider

    async def content(self, skill: HostedSkill, file: RemoteFile) -> bytes:
        """Return the bytes of a file if they are what the entry promises (H15). Raises `HostError`."""
        if (kept := await self._keeping.cached(skill, file)) is not None:
            return kept
        with told_of(skill.origin, file.uri):
            content = await self.provider(skill.label).read(file.uri, file.size or 1)
        if faults := tuple(file_faults(file, content)):
            raise VerificationError(skill.origin, *faults)
        await self._keeping.cache(skill, file, content)
        return content

    async def granted(self, skill: HostedSkill) -> frozenset[str]:
        """Return the tools that a skill may use without a question: its own, or those that were granted."""
        wanted = wanted_tools(skill.skill)
        return wanted if skill.local else wanted & await self._keeping.granted(skill)

    async def _list(self, provider: Provider, listings: dict[str, Listing | HostProblem]) -> None:
        origin = origin_of(provider.label, local=provider.local)
        try:
            with anyio.fail_after(self._patience), told_of(origin, SKILLS_LIST):
                listings[provider.label] = await provider.list()
        except TimeoutError:
            told = f"it did not list its skills in {self._patience:g} seconds"
            listings[provider.label] = HostProblem(provider.label, told)
        except HostError as error:
            listings[provider.label] = HostProblem(provider.label, error.told)

    async def _take(self, listings: Mapping[str, Listing | HostProblem]) -> None:
        """Make the registry of what all places said, with what they have beside their lists (H3)."""
        skills: list[HostedSkill] = []
        problems: list[HostProblem] = []
        for label, listing in listings.items():
            if isinstance(listing, HostProblem):
                problems.append(listing)
                continue
            listed = {skill.uri: skill for skill in listing.skills}
            beside = {uri: each for (whose, uri), each in self._looked_up.items() if whose == label}
            local = self._providers[label].local
            skills += [HostedSkill(label, local, each) for each in {**beside, **listed}.values()]
            problems += [HostProblem(label, str(finding)) for finding in listing.findings.kept]
            if listing.findings.more:
                problems.append(HostProblem(label, f"and {listing.findings.more:,} more"))
        known = await self._keeping.judged(skills)
        judged = (replace(each, standing=known.get(each.identity, each.standing)) for each in skills)
        self._swap(Registry(judged, problems))

    async def _judged(self, skill: HostedSkill) -> HostedSkill:
        """Return a skill with how it stands: other content than was approved ends an approval (H17)."""
        return skill if skill.local else replace(skill, standing=await self._keeping.standing(skill))

    async def _judge_again(self, identity: Identity) -> None:
        if (known := self.registry.get(identity)) is not None:
            self._swap(self.registry.having(await self._judged(known)))

    def _swap(self, registry: Registry) -> None:
        self.registry = registry
        for session in self._sessions:
            session.notice(registry)


def _by_label(providers: Iterable[Provider]) -> dict[str, Provider]:
    known: dict[str, Provider] = {}
    for each in providers:
        checked_label(each.label)
        if any(each.label.casefold() == label.casefold() for label in known):  # as some file systems see it
            raise ConflictError(f"two places have the label {quoted(each.label)}; give each its own")
        known[each.label] = each
    return known
