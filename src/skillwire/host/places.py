"""All places of a host: discover their skills, look up single ones, and read verified files."""

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

OnRegistryChange: TypeAlias = Callable[[Registry], None]
"""Called with every new registry, right after it replaced the old one."""

_MAX_LOOKED_UP = 1000
"""Unlisted skills to remember. A server may have one at every URI."""


class Places:
    """Places by label, and the registry of their skills. All changing state of a host is here."""

    def __init__(
        self,
        sources: Iterable[Source],
        approval_store: ApprovalStore,
        limits: Limits,
        timeout_seconds: float,
        on_registry_change: OnRegistryChange,
    ) -> None:
        self.places = _by_label(sources)
        self.registry = Registry()
        self.limits = limits
        self.notes: list[Problem] = []
        """Problems of places that do not come from their lists."""
        self._approval_store = approval_store
        self._timeout_seconds = timeout_seconds
        self._on_registry_change = on_registry_change
        self._looked_up: dict[Identity, HostedSkill] = {}
        """Unlisted skills that were looked up, oldest first."""
        self._discovering = anyio.Lock()
        self._rounds = 0

    def place(self, label: str) -> Place:
        """Return the place with this label. Raises `BadParamsError`."""
        if (place := self.places.get(label)) is None:
            known = ", ".join(map(quoted, self.places)) or "none"
            raise BadParamsError(f"there is no server {quoted(label)}; known labels: {known}")
        return place

    async def discover(self) -> Registry:
        """List every place concurrently. Concurrent callers share one discovery (H29)."""
        rounds_before = self._rounds
        async with self._discovering:
            if self._rounds == rounds_before:  # otherwise another task discovered while this one waited
                listings: dict[str, Found | Problem] = {}
                async with anyio.create_task_group() as tasks:
                    for place in self.places.values():
                        tasks.start_soon(self._list, place, listings)
                await self._build_registry({label: listings[label] for label in self.places})
                self._rounds += 1
        return self.registry

    async def find(self, name: str) -> HostedSkill:
        """Return the skill that `name` refers to. `label:URI` also finds unlisted skills (H3)."""
        unlisted = await self.unlisted_identity(name)
        return self.registry.resolve(name) if unlisted is None else await self.lookup(*unlisted)

    async def unlisted_identity(self, name: str) -> Identity | None:
        """Return the label and the URI in a name `label:URI`, if the registry does not know that skill."""
        if self._rounds == 0:
            await self.discover()
        label, _, uri = name.partition(":")
        is_identity = label in self.places and "://" in uri
        return (label, uri) if is_identity and not self.registry.knows(name) else None

    async def lookup(self, label: str, uri: str) -> HostedSkill:
        """Fetch the current version of the skill at `uri`, listed or not (H3, H15). Raises `HostError`."""
        place = self.place(label)
        before = self._looked_up.pop((label, uri), None)
        with translated_errors(place.origin, SKILLS_GET):
            skill = await place.get(uri)
        if before is not None or self.registry.get((label, uri)) is None:
            self._looked_up[label, uri] = skill
            if len(self._looked_up) > _MAX_LOOKED_UP:
                del self._looked_up[next(iter(self._looked_up))]
        self._swap(self.registry.having(await self._with_status(skill)))
        return self.registry.skill((label, uri))

    def listed(self, label: str) -> list[SkillClaim]:
        """Return what a server claims about the skills in its list, in list order."""
        return [
            each.claim
            for each in self.registry
            if each.label == label and each.claim is not None and each.identity not in self._looked_up
        ]

    async def content(self, skill: HostedSkill, file: FileClaim) -> bytes:
        """Return the bytes of a file, verified against the claim (H15). Raises `HostError`."""
        if (cached := await self._approval_store.cached(skill, file)) is not None:
            return cached
        with translated_errors(skill.origin, file.uri):
            content = await self.place(skill.label).read(file.uri, file.size)
        if faults := tuple(file_faults(file, content)):
            raise VerificationError(skill.origin, *faults)
        await self._approval_store.cache(skill, file, content)
        return content

    async def granted(self, skill: HostedSkill) -> frozenset[str]:
        """Return the tools that a skill may use without asking.

        For the user's own skills, all that it requests. For others, those that the user granted.
        """
        requested = requested_tools(skill)
        return requested if skill.local else requested & await self._approval_store.granted(skill)

    async def refresh_status(self, identity: Identity) -> None:
        """Update the registry after an approval was given or revoked."""
        if (known := self.registry.get(identity)) is not None:
            self._swap(self.registry.having(await self._with_status(known)))

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

    async def _build_registry(self, listings: Mapping[str, Found | Problem]) -> None:
        """Replace the registry by one of these listings and the unlisted skills that were looked up (H3)."""
        skills: list[HostedSkill] = []
        problems = list(self.notes)
        for label, listing in listings.items():
            if isinstance(listing, Problem):
                problems.append(listing)
                continue
            listed = {skill.uri: skill for skill in listing.skills}
            unlisted = {uri: each for (owner, uri), each in self._looked_up.items() if owner == label}
            skills += {**listed, **unlisted, **listed}.values()
            problems += [replace(each, label=label) for each in listing.findings.kept]
            if listing.findings.more:
                message = f"and {listing.findings.more:,} more"
                problems.append(Problem("", Rule.MORE, Severity.ERROR, message, label=label))
        known = await self._approval_store.statuses(skills)
        decided = [
            _decided(each, known[each.identity]) if each.identity in known else each for each in skills
        ]
        self._swap(
            await anyio.to_thread.run_sync(Registry, decided, problems, self.places)
        )  # slow for long lists

    async def _with_status(self, skill: HostedSkill) -> HostedSkill:
        """Return a skill with its approval status. Changed content ends an approval (H17)."""
        return skill if skill.local else _decided(skill, await self._approval_store.approval_status(skill))

    def _swap(self, registry: Registry) -> None:
        self.registry = registry
        self._on_registry_change(registry)


def _decided(skill: HostedSkill, approval_status: ApprovalStatus) -> HostedSkill:
    hint = "load it in a session, or approve it with `Host.approve`"
    record = decided(skill.record, approval_status, hint, live=content_key(skill) is None)
    return replace(skill, approval_status=approval_status, record=record)


def _by_label(sources: Iterable[Source]) -> dict[str, Place]:
    known: dict[str, Place] = {}
    for each in sources:
        validate_label(each.label)
        if any(each.label.casefold() == label.casefold() for label in known):  # some file systems ignore case
            raise ConflictError(f"two sources have the label {quoted(each.label)}; give each its own label")
        known[each.label] = place_of(each)
    return known
