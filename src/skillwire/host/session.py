"""One conversation with a model: which skills it was given, and what of them it may read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

from skillwire.host.acting import Acting, Held
from skillwire.host.changes import Changes
from skillwire.host.consent import Consent
from skillwire.host.hosted import HostedSkill, Identity, origin_of
from skillwire.host.paths import files_below, listed_file, live_uri, path_in, unlisted
from skillwire.host.permissions import is_for_models
from skillwire.host.prompt import catalog_prompt
from skillwire.host.refusing import (
    ChangedError,
    HostError,
    NotApprovedError,
    UnavailableError,
    VerificationError,
    told_of,
)
from skillwire.host.registry import Registry
from skillwire.host.session_tools import session_tools
from skillwire.host.state.manifest import content_of
from skillwire.host.tagging import file_text, list_text, resource_text, skill_text
from skillwire.host.tools import AgentTool
from skillwire.model.mime import is_text
from skillwire.surfaces.catalog_text import DEFAULT_TOKENS
from skillwire.wire.findings import Fault, Finding, FindingError
from skillwire.wire.remote import RemoteFile
from skillwire.wire.verify import file_faults, frontmatter_faults

if TYPE_CHECKING:
    from skillwire.host.host import Host


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read, and how a model is given it."""

    label: str
    uri: str
    content: bytes
    text: str
    """For the model, as the result of a tool: it says from whom it is (H20)."""


class Session:
    """Loads skills for a model, and reads the files of those that are loaded."""

    def __init__(self, host: "Host", consent: Consent) -> None:
        self._host, self._consent = host, consent
        self._acting = Acting()
        self._loading = anyio.Lock()

    @property
    def acting(self) -> tuple[HostedSkill, ...]:
        """The skills that are in the model's context, each as it was loaded (H14)."""
        return tuple(each.skill for each in self._acting.held.values())

    def catalog_prompt(self, tokens: int = DEFAULT_TOKENS) -> str:
        """Return the list of skills for the model, in about so many tokens (H27)."""
        return catalog_prompt(self._host.registry, tokens)

    def tools(self, *, resources: bool = False) -> tuple[AgentTool, ...]:
        """Return the tools for the model; with `resources`, one that reads any resource of a server."""
        return session_tools(self, resources=resources)

    # Loading

    async def load(self, name: str) -> Reading:
        """Give a skill to the model: ask, read, verify, hold its entry (H13, H14). Raises `SkillwireError`.

        A skill that changed since it was listed is a new question, asked once.
        """
        skill = await self._host.find(name)
        async with self._loading:
            try:
                return await self._load(skill)
            except ChangedError:
                return await self._load(self._host.registry.skill(skill.identity))

    async def _load(self, skill: HostedSkill) -> Reading:
        if not await self._consent.to_load(skill):
            raise NotApprovedError(skill.origin, f"the user did not approve the skill {skill.quoted}")
        held = self._still_there(skill)
        main = skill.skill.main
        content = await (self._live(held, skill.skill.uri) if main is None else self._verified(held, main))
        faults = list(frontmatter_faults(skill.skill, content))
        if not is_text(content):
            faults.append(Finding(skill.skill.uri, Fault.READ_SHAPE, "it is not text"))
        if faults:
            raise await self._failure(held, VerificationError(skill.origin, *faults))
        await self._must_be_approved(held)
        self._acting.held[skill.identity] = held
        return Reading(skill.label, skill.skill.uri, content, skill_text(skill, content.decode()))

    def _still_there(self, skill: HostedSkill) -> Held:
        """Return what will be held, unless the skill became another while a person was thinking."""
        fresh = self._host.registry.get(skill.identity)
        if fresh is not None and content_of(fresh.skill) != content_of(skill.skill):
            raise ChangedError(skill, str(Changes.between(skill.skill, fresh.skill)))
        return Held(skill)

    async def load_for_model(self, name: str) -> Reading:
        """Load a skill because the model asks for it: one that is for people to start is not (H21)."""
        skill = await self._host.find(name)
        if not is_for_models(skill.skill):
            told = f"the skill {skill.quoted} is not for models to load; ask the user to start it"
            raise NotApprovedError(skill.origin, told)
        return await self.load(skill.handle)

    def release(self, name: str) -> None:
        """Stop acting on a skill. Call it when no copy of its `SKILL.md` is in the context, not before."""
        self._acting.end(self._acting.named(name, self._host.registry))

    # Reading

    async def read_file(self, name: str, path: str) -> Reading:
        """Return a file of a skill that is loaded, by its path there (H14, H19). Raises `SkillwireError`."""
        held = self._acting.named(name, self._host.registry)
        skill = held.skill
        await self._must_be_approved(held)
        with told_of(skill.origin, skill.skill.uri):
            file = listed_file(skill.skill, path)
        if file is not None:
            content, uri = await self._verified(held, file), file.uri
        elif skill.skill.files is None:
            with told_of(skill.origin, skill.skill.uri):
                uri = live_uri(skill.skill, path)
            content = await self._live(held, uri)
        else:  # whatever the server has there now, it is no file of the skill
            raise VerificationError(skill.origin, unlisted(skill.skill, path))
        await self._must_be_approved(held)
        shown = path_in(held.skill.skill, uri)
        told = content.decode() if is_text(content) else f"({len(content):,} bytes that are not text)"
        return Reading(skill.label, uri, content, file_text(skill, shown, told))

    async def read_for_model(self, name: str, path: str) -> str:
        """Return a file as the model is given it, or the list of files in a folder."""
        skill = self._acting.named(name, self._host.registry).skill
        folder = path in {"", ".", "./"} or path.endswith("/")
        if skill.skill.files is not None and not folder and "://" not in path:
            with told_of(skill.origin, skill.skill.uri):
                folder = listed_file(skill.skill, path) is None and bool(files_below(skill.skill, path))
        return await self.list_files(name, path) if folder else (await self.read_file(name, path)).text

    async def list_files(self, name: str, path: str = "") -> str:
        """Return the files below a folder of a loaded skill, for the model: those of its entry (H16)."""
        held = self._acting.named(name, self._host.registry)
        skill = held.skill
        await self._must_be_approved(held)
        with told_of(skill.origin, skill.skill.uri):
            if skill.skill.files is not None:
                below = files_below(skill.skill, path)
                shown = [_line(path_in(skill.skill, file.uri), file.size) for file in below]
            else:
                folder = live_uri(skill.skill, path).rstrip("/")
                children = await self._host.provider(skill.label).read_directory(folder)
                shown = [path_in(skill.skill, str(child["uri"])) for child in children]
        if not shown:
            raise VerificationError(skill.origin, unlisted(skill.skill, path))
        return list_text(skill, path, "\n".join(shown))

    async def read_resource(self, server: str, uri: str) -> Reading:
        """Return a resource of a server. That is never a load, whatever it is (H12). Raises `SkillwireError`.

        A file of a loaded skill is read as such. While skills of other servers are acted on, a person is
        asked each time, because they may be behind it (H22).
        """
        provider = self._host.provider(server)
        others = tuple(each for each in self._acting.foreign() if each.label != server)
        origin = origin_of(server, local=provider.local)
        if others and not await self._consent.to_read_elsewhere(others, server, uri):
            named = ", ".join(each.origin for each in others)
            told = f"the user did not approve that {named} has it read"
            raise NotApprovedError(origin, told)
        if (held := self._acting.around(server, uri)) is not None:
            return await self.read_file(held.skill.handle, uri)
        listed = self._host.registry.file((server, uri))
        with told_of(origin, uri):
            content = await provider.read(uri, 1 if listed is None else listed.size or 1)
        if listed is not None and (faults := tuple(file_faults(listed, content))):
            raise VerificationError(origin, *faults)
        told = content.decode() if is_text(content) else f"({len(content):,} bytes that are not text)"
        return Reading(server, uri, content, resource_text(server, uri, told, local=provider.local))

    # Acting

    async def may_execute(self, what: str) -> bool:
        """Whether code may run now. While a server's skill is acted on, a person is asked (H21)."""
        acting = self._acting.foreign()
        return not acting or await self._consent.to_execute(what, acting)

    async def allowed_tools(self, name: str) -> frozenset[str]:
        """Return the tools that a loaded skill may use without a question: of a server's, what was granted.

        Nothing else in a frontmatter has an effect, and nothing at all in that of a nested skill (H18, H21).
        """
        held = self._acting.named(name, self._host.registry)
        await self._must_be_approved(held)
        return await self._host.granted(held.skill)

    # What others notice

    def notice(self, registry: Registry) -> None:
        """Take note of fresh entries: who is another now needs to be approved again (H15)."""
        for identity, held in self._acting.held.items():
            fresh = registry.get(identity)
            if fresh is not None and content_of(fresh.skill) != content_of(held.skill.skill):
                held.changed = held.changed or str(Changes.between(held.skill.skill, fresh.skill))
        self._consent.notice(registry)

    def withdraw(self, identity: Identity) -> None:
        """Forget that a person approved a skill."""
        self._consent.withdraw(identity)

    # Verifying

    async def _must_be_approved(self, held: Held) -> None:
        if held.skill.local:
            return
        if held.changed:
            raise ChangedError(held.skill, held.changed)
        if not await self._consent.covers(held.skill):
            told = f"the approval of the skill {held.skill.quoted} does not hold any more"
            raise NotApprovedError(held.skill.origin, told)

    async def _verified(self, held: Held, file: RemoteFile) -> bytes:
        """Return the bytes that the held entry promises (H15)."""
        try:
            return await self._host.content(held.skill, file)
        except (VerificationError, UnavailableError) as error:
            raise await self._failure(held, error) from error

    async def _live(self, held: Held, uri: str) -> bytes:
        """Return bytes that nobody promised, as long as they are not too many in all (H8)."""
        skill, limit = held.skill, self._host.limits.bytes
        with told_of(skill.origin, uri):
            content = await self._host.provider(skill.label).read(uri)
            held.retrieved += len(content)
            if held.retrieved > limit:
                told = f"more than {limit:,} bytes were read of this skill"
                raise FindingError(Finding(uri, Fault.READ_BUDGET, told))
        return content

    async def _failure(self, held: Held, error: HostError) -> HostError:
        """Ask for the entry as it is now, and return what a failed read means: most often, a change (H15)."""
        skill = held.skill
        try:
            fresh = await self._host.lookup(*skill.identity)
        except HostError:
            return error
        if content_of(fresh.skill) == content_of(skill.skill):
            return error
        held.changed = str(Changes.between(skill.skill, fresh.skill))
        return ChangedError(skill, held.changed)


def _line(path: str, size: int | None) -> str:
    return path if size is None else f"{path} ({size:,} bytes)"
