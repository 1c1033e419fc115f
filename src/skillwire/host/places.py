"""All places of a host: discover their skills, look up single skills, and read verified files."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

import anyio
import anyio.to_thread

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Limits
from skillwire.errors import (
    BadParamsError,
    ConflictError,
    HostError,
    LoginRequiredError,
    SkillwireError,
    UnavailableError,
    VerificationError,
)
from skillwire.host.approvals.approval_store import ApprovalStore, decided, why_unbound
from skillwire.host.approvals.questions import needs_new_approval
from skillwire.host.archives import Archives
from skillwire.host.connections.labels import validate_label
from skillwire.host.errors import translated_errors
from skillwire.host.hosted_skill import HostedSkill, Identity, requested_tools
from skillwire.host.hosted_template import HostedTemplate
from skillwire.host.place import Found, Place, place_of
from skillwire.host.registry import HostReference, Registry
from skillwire.host.servers.packed import read_packed
from skillwire.host.servers.records import hosted_record
from skillwire.host.store.approvals import ApprovalStatus
from skillwire.library.names import UnknownNameError
from skillwire.protocol.claims import FileClaim, SkillClaim
from skillwire.protocol.messages import COMPLETE, SKILLS_GET, SKILLS_LIST
from skillwire.protocol.verify import file_faults
from skillwire.safe_text import quoted
from skillwire.sources.base import Source

OnRegistryChange: TypeAlias = Callable[[Registry], None]
"""A function that is called with every new registry, right after it has replaced the old one."""

_COMPLETION_SECONDS = 10.0
_SHOWN_LABELS = 5
"""Maximum number of labels to name in one message."""
_MAX_LOOKED_UP = 1000
"""Maximum number of unlisted skills to remember. A server may have a skill at every URI."""


class Places:
    """The places of a host by label, and the registry of their skills."""

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
        """Problems with labels, logins and the state. Each new registry also contains them."""
        self._approval_store = approval_store
        self._archives = Archives(approval_store)
        self._timeout_seconds = timeout_seconds
        self._on_registry_change = on_registry_change
        self._unlisted: dict[str, HostError] = {}
        """Why the last discovery has no list of a place, by label."""
        self._looked_up: dict[Identity, HostedSkill] = {}
        """Unlisted skills that were looked up, oldest first."""
        self._discovering = anyio.Lock()
        self._rounds = 0

    @property
    def has_discovered(self) -> bool:
        """Whether the places were listed at least once."""
        return self._rounds > 0

    def place(self, label: str) -> Place:
        """Return the place with this label. Raises `BadParamsError` if there is none."""
        if (place := self.places.get(label)) is None:
            known = ", ".join(map(quoted, self.places)) or "none"
            raise BadParamsError(f"there is no server {quoted(label)}; known labels: {known}")
        return place

    async def discover(self) -> Registry:
        """List all places concurrently, and return the new registry.

        Concurrent callers share one discovery (H29).
        """
        rounds_before = self._rounds
        async with self._discovering:
            if self._rounds == rounds_before:  # otherwise another task discovered while this one waited
                listings: dict[str, Found | HostError] = {}
                async with anyio.create_task_group() as tasks:
                    for place in self.places.values():
                        tasks.start_soon(self._list, place, listings)
                await self._build_registry({label: listings[label] for label in self.places})
                self._rounds += 1
        return self.registry

    async def find_or_explain(self, name: str, base: HostedSkill | None = None) -> HostReference:
        """Return what `name` refers to, as `reference` does. If nothing, the error names unavailable places.

        Raises `UnavailableError` for a name with the label of a place that was not listed.
        """
        try:
            return await self.reference(name, base)
        except UnknownNameError as error:
            if (explained := self._explain_unknown(name, error)) is error:
                raise
            raise explained from error

    async def find(self, name: str, base: HostedSkill | None = None) -> HostedSkill:
        """Return the skill that `name` refers to. An unlisted skill is fetched (H3).

        Raises the errors of `find_or_explain`, `Registry.resolve` and `lookup`.
        """
        found = await self.find_or_explain(name, base)
        return (
            self.registry.resolve(name, base)
            if found.skill is not None
            else await self.lookup(*found.identity)
        )

    async def find_file(self, name: str) -> tuple[HostedSkill, str]:
        """Return the skill that `name` refers to, and the path of a file or folder in it, which may be empty.

        Raises the errors of `Registry.find` and `lookup`.
        """
        found = await self.reference(name)
        return found.skill or await self.lookup(*found.identity), found.path

    async def reference(self, name: str, base: HostedSkill | None = None) -> HostReference:
        """Return what `name` refers to, as `Registry.find` does.

        Calls `discover` if nothing was discovered yet, and makes no other request.
        """
        if self._rounds == 0:
            await self.discover()
        return self.registry.find(name, base)

    async def lookup(self, label: str, uri: str) -> HostedSkill:
        """Fetch the current version of the skill at `uri`, listed or not, and update the registry (H3, H15).

        Raises `HostError`, or `BadParamsError` if there is no such label.
        """
        place = self.place(label)
        before = self._looked_up.pop((label, uri), None)
        with translated_errors(place.origin, SKILLS_GET):
            (skill,) = await self._restored(label, [await place.get(uri)])
        if before is not None or self.registry.get((label, uri)) is None:
            self._looked_up[label, uri] = skill
            if len(self._looked_up) > _MAX_LOOKED_UP:
                del self._looked_up[next(iter(self._looked_up))]
        self._swap(self.registry.having(await self._with_status(skill)))
        return self.registry.skill((label, uri))

    async def with_files(self, skill: HostedSkill) -> HostedSkill:
        """Fetch the archive of a packed skill, and return the skill with its files. Raises `HostError`.

        The archive must have the digest that this version of the skill lists. The registry is updated if it
        has the same version. A skill that is not packed is returned unchanged.
        """
        if not skill.is_packed:
            return skill
        place = self.place(skill.label)
        with translated_errors(skill.origin, skill.uri):
            claim = await self._archives.derive(skill.label, place, skill.claimed)
        derived = await self._with_status(hosted(skill.label, claim, skill.handle))
        known = self.registry.get(skill.identity)
        if known is None or needs_new_approval(known, derived):
            return derived  # the registry has no such skill, or another version of it
        self._swap(self.registry.having(derived))
        return self.registry.skill(skill.identity)

    def listed(self, label: str) -> list[SkillClaim]:
        """Return a server's claims about the skills in its list, in list order.

        Skills that were looked up while they were unlisted are omitted.
        """
        return [
            each.claim
            for each in self.registry
            if each.label == label and each.claim is not None and each.identity not in self._looked_up
        ]

    async def complete(self, template: HostedTemplate, parameter: str, typed: str) -> list[str]:
        """Return values for a parameter, to show to people. Raises `HostError`, also on a timeout."""
        place = self.place(template.label)
        try:
            with anyio.fail_after(_COMPLETION_SECONDS), translated_errors(place.origin, COMPLETE):
                return await place.complete(template, parameter, typed)
        except TimeoutError as error:
            message = f"it suggested no values in {_COMPLETION_SECONDS:g} seconds"
            raise UnavailableError(place.origin, message) from error

    async def content(self, skill: HostedSkill, file: FileClaim, *, store: bool = True) -> bytes:
        """Return the bytes of a file from the cache or its place, verified against the claim (H15).

        With `store`, bytes that the server sent are cached. Raises `HostError`.
        """
        if (cached := await self._approval_store.cached(skill, file)) is not None:
            return cached
        place = self.place(skill.label)
        with translated_errors(skill.origin, file.uri):
            if skill.archive is None:
                content = await place.read(file.uri, file.size)
            else:
                content = await read_packed(place, skill.claimed, file)
        if faults := tuple(file_faults(file, content)):
            raise VerificationError(skill.origin, *faults)
        if store:
            await self._approval_store.cache(skill, file, content)
        return content

    async def granted(self, skill: HostedSkill) -> frozenset[str]:
        """Return the tools that a skill may use without asking the user.

        For the user's own skills, these are all requested tools. For other skills, these are the requested
        tools that the user granted.
        """
        requested = requested_tools(skill)
        return requested if skill.local else requested & await self._approval_store.granted(skill)

    async def refresh_status(self, identity: Identity) -> None:
        """Update a skill in the registry after its approval was given or revoked."""
        await self.refresh_statuses([identity])

    async def refresh_statuses(self, identities: Iterable[Identity]) -> None:
        """Update skills in the registry after their approvals were given or revoked."""
        known = [found for each in identities if (found := self.registry.get(each)) is not None]
        if known:
            decided = [await self._with_status(each) for each in known]
            self._swap(self.registry.having_all(decided))

    def _explain_unknown(self, name: str, error: UnknownNameError) -> SkillwireError:
        """Return the error for a name that nothing has. A place that was not listed may have it.

        Returns an `UnavailableError` if the name begins with the label of such a place.
        """
        for separator in (":", "/"):
            label = name.partition(separator)[0].casefold()
            found = next((each for each in self._unlisted if each.casefold() == label), None)
            if found is not None and separator in name:
                return _unavailable(self._unlisted[found])
        has_label = name.partition(":")[0] in self.places and ":" in name
        if has_label or not self._unlisted or type(error) is not UnknownNameError:
            return error
        labels = ", ".join(map(quoted, [*self._unlisted][:_SHOWN_LABELS]))
        more = len(self._unlisted) - _SHOWN_LABELS
        labels += f" and {more:,} more" if more > 0 else ""
        note = f"the skills of {labels} are unknown, because no list came from there"
        return UnknownNameError(name, "; ".join(filter(None, (error.suggestion, note))))

    async def _list(self, place: Place, listings: dict[str, Found | HostError]) -> None:
        try:
            with anyio.fail_after(self._timeout_seconds), translated_errors(place.origin, SKILLS_LIST):
                listings[place.label] = await place.list()
        except TimeoutError:
            message = f"it did not list its skills in {self._timeout_seconds:g} seconds"
            listings[place.label] = _ListTimeoutError(place.origin, message)
        except HostError as error:
            listings[place.label] = error

    async def _build_registry(self, listings: Mapping[str, Found | HostError]) -> None:
        """Replace the registry with these listings, and the unlisted skills that were looked up (H3).

        A place that could not be listed has no skills in the new registry.
        """
        skills: list[HostedSkill] = []
        templates: list[HostedTemplate] = []
        looked_up: list[Identity] = []
        problems = list(self.notes)
        for label, listing in listings.items():
            if isinstance(listing, HostError):
                problems.append(_listing_problem(label, listing))
                continue
            templates += listing.templates
            listed = {skill.uri: skill for skill in await self._restored(label, listing.skills)}
            unlisted = {uri: each for (owner, uri), each in self._looked_up.items() if owner == label}
            looked_up += ((label, uri) for uri in unlisted if uri not in listed)
            skills += {**listed, **unlisted, **listed}.values()
            problems += [replace(each, label=label) for each in listing.findings.kept]
            if listing.findings.more:
                message = f"and {listing.findings.more:,} more"
                problems.append(Problem("", Rule.MORE, Severity.ERROR, message, label=label))
        self._unlisted = {
            label: listing for label, listing in listings.items() if isinstance(listing, HostError)
        }
        known = await self._approval_store.statuses(skills)
        decided = [
            _decided(each, known[each.identity]) if each.identity in known else each for each in skills
        ]
        self._swap(
            await anyio.to_thread.run_sync(Registry, decided, problems, self.places, templates, looked_up)
        )  # slow for long lists

    async def _restored(self, label: str, skills: "list[HostedSkill]") -> "list[HostedSkill]":
        """Return a place's skills, with the files of skills in known archives. Makes no request (H11)."""
        packed = [skill.claimed for skill in skills if skill.is_packed]
        known = {each.uri: each for each in await self._archives.restore(label, packed)}
        return [
            hosted(label, known[skill.uri], skill.handle) if skill.is_packed else skill for skill in skills
        ]

    async def _with_status(self, skill: HostedSkill) -> HostedSkill:
        """Return a skill with its approval status. Changed content ends an approval (H17)."""
        return skill if skill.local else _decided(skill, await self._approval_store.approval_status(skill))

    def _swap(self, registry: Registry) -> None:
        self.registry = registry
        self._on_registry_change(registry)


class _ListTimeoutError(UnavailableError):
    """A place did not list its skills in time."""


def _listing_problem(label: str, error: HostError) -> Problem:
    """Return the problem of a place that could not be listed."""
    message = error.message.removeprefix(f"{quoted(label)} ")
    rule = Rule.TIMEOUT if isinstance(error, _ListTimeoutError) else Rule.SOURCE_FAILED
    rule = Rule.LOGIN_REQUIRED if isinstance(error, LoginRequiredError) else rule
    return Problem("", rule, Severity.ERROR, message, label=label)


def _unavailable(error: HostError) -> UnavailableError:
    """Return a new error for a place whose list failed with `error`."""
    if isinstance(error, LoginRequiredError):
        return LoginRequiredError(error.origin, error.message, error.scope)
    return UnavailableError(error.origin, f"its skills are not known: {error.message}")


def _decided(skill: HostedSkill, approval_status: ApprovalStatus) -> HostedSkill:
    hint = "load it in a session, or approve it with `Host.approve`"
    unbound = "" if skill.claim is None else why_unbound(skill.claim)
    record = decided(skill.record, approval_status, hint, unbound=unbound)
    return replace(skill, approval_status=approval_status, record=record)


def hosted(label: str, claim: SkillClaim, handle: str) -> HostedSkill:
    """Return a server's skill for use in a host."""
    return HostedSkill(hosted_record(label, claim), claim, handle)


def _by_label(sources: Iterable[Source]) -> dict[str, Place]:
    known: dict[str, Place] = {}
    for each in sources:
        validate_label(each.label)
        if any(each.label.casefold() == label.casefold() for label in known):  # some file systems ignore case
            raise ConflictError(f"two sources have the label {quoted(each.label)}; give each its own label")
        known[each.label] = place_of(each)
    return known
