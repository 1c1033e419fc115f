"""Every place that skills come from, what they list at this moment, and verified reads from each."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

import anyio
import anyio.to_thread

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Limits
from skillwire.errors import BadParamsError, ConflictError, HostError, LoginRequiredError, VerificationError
from skillwire.host.approvals.approval_store import ApprovalStore, decided
from skillwire.host.connections.labels import validate_label
from skillwire.host.errors import translated_errors
from skillwire.host.hosted_skill import HostedSkill, Identity, requested_tools
from skillwire.host.place import Found, Place, place_of
from skillwire.host.registry import Registry
from skillwire.host.store.approvals import ApprovalStatus, content_key
from skillwire.protocol.messages import SKILLS_GET, SKILLS_LIST
from skillwire.protocol.remote import FileClaim, SkillClaim
from skillwire.protocol.verify import file_faults
from skillwire.safe_text import quoted
from skillwire.sources.base import Source

Noticed: TypeAlias = Callable[[Registry], None]
"""Told of every new registry, right after it stands."""

_MAX_LOOKED_UP = 1000
"""Skills beside the lists that are remembered: a server may have one at every URI."""


class Places:
    """Sources by their labels, and the registry of their skills. The one part that moves."""

    def __init__(
        self,
        sources: Iterable[Source],
        keeping: ApprovalStore,
        limits: Limits,
        timeout_seconds: float,
        noticed: Noticed,
    ) -> None:
        self.places = _by_label(sources)
        self.registry = Registry()
        self.limits = limits
        self.notes: list[Problem] = []
        """What the person should know of places, beside what they list."""
        self._approval_store = keeping
        self._timeout_seconds = timeout_seconds
        self._noticed = noticed
        self._looked_up: dict[Identity, HostedSkill] = {}
        """What no list has, oldest first."""
        self._discovering = anyio.Lock()
        self._rounds = 0

    def place(self, label: str) -> Place:
        """Return the place of that label. Raises `BadParamsError`."""
        if (place := self.places.get(label)) is None:
            known = ", ".join(map(quoted, self.places)) or "none"
            raise BadParamsError(f"there is no server {quoted(label)}; there are {known}")
        return place

    async def discover(self) -> Registry:
        """List every place at once. Many who ask at once share one look (H29)."""
        seen = self._rounds
        async with self._discovering:
            if self._rounds == seen:  # else somebody looked while we waited
                listings: dict[str, Found | Problem] = {}
                async with anyio.create_task_group() as tasks:
                    for place in self.places.values():
                        tasks.start_soon(self._list, place, listings)
                await self._take({label: listings[label] for label in self.places})
                self._rounds += 1
        return self.registry

    async def find(self, name: str) -> HostedSkill:
        """Return the skill that `name` means; `label:URI` also if no list has it (H3)."""
        beside = await self.unlisted_identity(name)
        return self.registry.resolve(name) if beside is None else await self.lookup(*beside)

    async def unlisted_identity(self, name: str) -> Identity | None:
        """Return the label and the URI that a name spells, if that is of no skill that is known."""
        if self._rounds == 0:
            await self.discover()
        label, _, uri = name.partition(":")
        spelled = label in self.places and "://" in uri
        return (label, uri) if spelled and not self.registry.knows(name) else None

    async def lookup(self, label: str, uri: str) -> HostedSkill:
        """Return the skill at `uri` as its place has it now, listed or not (H3, H15). Raises `HostError`."""
        place = self.place(label)
        before = self._looked_up.pop((label, uri), None)
        with translated_errors(place.origin, SKILLS_GET):
            skill = await place.get(uri)
        if before is not None or self.registry.get((label, uri)) is None:
            self._looked_up[label, uri] = skill
            if len(self._looked_up) > _MAX_LOOKED_UP:
                del self._looked_up[next(iter(self._looked_up))]
        self._swap(self.registry.having(await self._judged(skill)))
        return self.registry.skill((label, uri))

    def listed(self, label: str) -> list[SkillClaim]:
        """Return the skills of a server that its list has, in the order of the list."""
        return [
            each.claim
            for each in self.registry
            if each.label == label and each.claim is not None and each.identity not in self._looked_up
        ]

    async def content(self, skill: HostedSkill, file: FileClaim) -> bytes:
        """Return the bytes of a file if they are what the entry promises (H15). Raises `HostError`."""
        if (kept := await self._approval_store.cached(skill, file)) is not None:
            return kept
        with translated_errors(skill.origin, file.uri):
            content = await self.place(skill.label).read(file.uri, file.size)
        if faults := tuple(file_faults(file, content)):
            raise VerificationError(skill.origin, *faults)
        await self._approval_store.cache(skill, file, content)
        return content

    async def granted(self, skill: HostedSkill) -> frozenset[str]:
        """Return the tools that a skill may use without a question: its own, or those that were granted."""
        wanted = requested_tools(skill)
        return wanted if skill.local else wanted & await self._approval_store.granted(skill)

    async def refresh_status(self, identity: Identity) -> None:
        """Take note that an approval was given or taken back."""
        if (known := self.registry.get(identity)) is not None:
            self._swap(self.registry.having(await self._judged(known)))

    async def _list(self, place: Place, listings: dict[str, Found | Problem]) -> None:
        try:
            with anyio.fail_after(self._timeout_seconds), translated_errors(place.origin, SKILLS_LIST):
                listings[place.label] = await place.list()
        except TimeoutError:
            message = f"it did not list its skills in {self._timeout_seconds:g} seconds"
            listings[place.label] = Problem("", Rule.TIMEOUT, Severity.ERROR, message, label=place.label)
        except HostError as error:
            message = error.message.removeprefix(f"{quoted(place.label)} ")
            rule = Rule.LOGIN_REQUIRED if isinstance(error, LoginRequiredError) else Rule.SOURCE_FAILED
            listings[place.label] = Problem("", rule, Severity.ERROR, message, label=place.label)

    async def _take(self, listings: Mapping[str, Found | Problem]) -> None:
        """Make the registry of what all places said, with what they have beside their lists (H3)."""
        skills: list[HostedSkill] = []
        problems = list(self.notes)
        for label, listing in listings.items():
            if isinstance(listing, Problem):
                problems.append(listing)
                continue
            listed = {skill.uri: skill for skill in listing.skills}
            beside = {uri: each for (whose, uri), each in self._looked_up.items() if whose == label}
            skills += {**listed, **beside, **listed}.values()
            problems += [replace(each, label=label) for each in listing.findings.kept]
            if listing.findings.more:
                message = f"and {listing.findings.more:,} more"
                problems.append(Problem("", Rule.MORE, Severity.ERROR, message, label=label))
        known = await self._approval_store.judged(skills)
        judged = [_decided(each, known[each.identity]) if each.identity in known else each for each in skills]
        self._swap(
            await anyio.to_thread.run_sync(Registry, judged, problems, self.places)
        )  # they may be very many

    async def _judged(self, skill: HostedSkill) -> HostedSkill:
        """Return a skill with how it stands: other content than was approved ends an approval (H17)."""
        return skill if skill.local else _decided(skill, await self._approval_store.approval_status(skill))

    def _swap(self, registry: Registry) -> None:
        self.registry = registry
        self._noticed(registry)


def _decided(skill: HostedSkill, approval_status: ApprovalStatus) -> HostedSkill:
    hint = "load it in a session, or approve it with `Host.approve`"
    record = decided(skill.record, approval_status, hint, live=content_key(skill) is None)
    return replace(skill, approval_status=approval_status, record=record)


def _by_label(sources: Iterable[Source]) -> dict[str, Place]:
    known: dict[str, Place] = {}
    for each in sources:
        validate_label(each.label)
        if any(each.label.casefold() == label.casefold() for label in known):  # as some file systems see it
            raise ConflictError(f"two places have the label {quoted(each.label)}; give each its own")
        known[each.label] = place_of(each)
    return known
