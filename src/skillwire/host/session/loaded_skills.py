"""Skills in the context of a model, and verified reads of their files."""

from dataclasses import dataclass, field

from skillwire.core.mime import is_text
from skillwire.core.problem import Rule
from skillwire.errors import (
    ChangedError,
    HostError,
    NotApprovedError,
    RequestError,
    UnavailableError,
    VerificationError,
)
from skillwire.host.approvals.consent import Consent
from skillwire.host.approvals.questions import Changes, needs_new_approval
from skillwire.host.errors import translated_errors
from skillwire.host.hosted_skill import (
    HostedSkill,
    Identity,
    canonical_uri,
    display_path,
    files_below,
    listed_file,
    live_uri,
    unlisted_finding,
)
from skillwire.host.places import Places
from skillwire.host.registry import Registry
from skillwire.host.session.model_text import file_text, list_text, shown_text
from skillwire.protocol.findings import server_problem
from skillwire.protocol.remote import FileClaim
from skillwire.protocol.verify import delivery_faults, frontmatter_faults
from skillwire.safe_text import quoted


@dataclass(frozen=True, slots=True)
class Reading:
    """Bytes that were verified as far as anything promises them."""

    label: str
    uri: str
    content: bytes
    text: str
    """For the model, as the result of a tool: it says from whom it is (H20)."""


class NotLoadedError(RequestError):
    """Files of a skill are read while it is acted on, and at no other time (H14)."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the skill {quoted(name)} is not loaded; load it first, with `read_skill`")


@dataclass(slots=True)
class LoadedSkill:
    """A skill that the host acts on."""

    skill: HostedSkill
    """As it was loaded. Its files are read as this entry lists them, whatever the server lists by now."""
    retrieved: int = 0
    """Bytes that were read of it, where no entry says how many there are (H8)."""
    changed: str = ""
    """What is different on its server now. Nothing is read then, until it was approved and loaded again."""


@dataclass(slots=True)
class LoadedSkills:
    """From the moment a `SKILL.md` is given to the model until somebody says that it left the context."""

    loaded: dict[Identity, LoadedSkill] = field(default_factory=dict[Identity, LoadedSkill])

    def begin(self, loaded: LoadedSkill) -> None:
        self.loaded[loaded.skill.identity] = loaded

    def named(self, name: str, registry: Registry) -> LoadedSkill:
        """Return what is held by that name, also if no list has it any more. Raises `NotLoadedError`.

        It means what it means in the registry, so that no skill is taken for another of that name (H10).
        """
        try:
            known = registry.resolve(name).identity
        except RequestError:  # what was loaded may not be listed any more
            known = self._own_name(name)
        if known not in self.loaded:
            raise NotLoadedError(name)
        return self.loaded[known]

    def _own_name(self, name: str) -> Identity:
        try:
            return Registry(each.skill for each in self.loaded.values()).resolve(name).identity
        except RequestError as error:
            raise NotLoadedError(name) from error

    def end(self, loaded: LoadedSkill) -> None:
        del self.loaded[loaded.skill.identity]

    def foreign(self) -> tuple[HostedSkill, ...]:
        """Return the skills of servers, changed ones too: they are still in the context."""
        return tuple(each.skill for each in self.loaded.values() if not each.skill.local)

    @property
    def changed(self) -> bool:
        """Whether one of them is another on its server now."""
        return any(each.changed for each in self.loaded.values())

    def around(self, label: str, uri: str) -> LoadedSkill | None:
        """Return the skill of that server in whose folder a URI is, however spelled: the innermost."""
        place = canonical_uri(uri)
        own = (each for each in self.loaded.values() if each.skill.label == label)
        inside = (each for each in own if place.startswith(f"{canonical_uri(each.skill.root)}/"))
        return max(inside, key=lambda each: len(each.skill.root), default=None)


class LoadedFiles:
    """Reads for one session."""

    def __init__(self, places: Places, consent: Consent) -> None:
        self._places, self._consent = places, consent

    async def document(self, loaded: LoadedSkill) -> bytes:
        """Return the `SKILL.md`, having compared it with its entry, field by field (H13)."""
        skill = loaded.skill
        main = skill.main
        content = await (self._live(loaded, skill.uri) if main is None else self._verified(loaded, main))
        # An own record was read from these very bytes. A server's entry may say something else.
        faults = [] if skill.claim is None else list(frontmatter_faults(skill.claim, content))
        if not is_text(content):
            faults.append(server_problem(skill.uri, Rule.READ_SHAPE, "it is not text"))
        if faults:
            raise await self._failure(loaded, VerificationError(skill.origin, *faults))
        await self.must_be_approved(loaded)  # it may have been taken back meanwhile
        return content

    async def read(self, loaded: LoadedSkill, path: str) -> Reading:
        """Return a file by its path in the skill, or by its URI (H19)."""
        try:
            return await self._read(loaded, path)
        except HostError:
            if not loaded.skill.local:
                raise
        await self._look_again(loaded)  # the person may change own files at any time
        return await self._read(loaded, path)

    async def list(self, loaded: LoadedSkill, path: str) -> str:
        """Return the files below a folder, for the model. No folder of the server adds to the entry (H16)."""
        if loaded.skill.local:
            await self._look_again(loaded)
        await self.must_be_approved(loaded)
        skill = loaded.skill
        with translated_errors(skill.origin, skill.uri):
            if skill.files is not None:
                below = files_below(skill, path)
                shown = [_line(display_path(skill, file.uri), file.size) for file in below]
            else:
                folder = live_uri(skill, path).rstrip("/")
                children = await self._places.place(skill.label).children(folder)
                shown = [display_path(skill, child) for child in children]
        if not shown:
            raise VerificationError(skill.origin, unlisted_finding(skill, path))
        return list_text(skill, path, "\n".join(shown))

    def is_folder(self, loaded: LoadedSkill, path: str) -> bool:
        """Whether a path means a folder of the skill, as far as one can tell without asking."""
        skill = loaded.skill
        if path in {"", ".", "./"} or path.endswith("/"):
            return True
        if skill.files is None or "://" in path:
            return False
        with translated_errors(skill.origin, skill.uri):
            return listed_file(skill, path) is None and bool(files_below(skill, path))

    async def must_be_approved(self, loaded: LoadedSkill) -> None:
        """Raise `NotApprovedError` if nothing may be read of it any more (H15)."""
        if loaded.skill.local:
            return
        if loaded.changed:
            raise ChangedError(loaded.skill, loaded.changed)
        if not await self._consent.is_approved(loaded.skill):
            message = f"the approval of the skill {loaded.skill.quoted} does not hold any more"
            raise NotApprovedError(loaded.skill.origin, message)

    async def _read(self, loaded: LoadedSkill, path: str) -> Reading:
        skill = loaded.skill
        await self.must_be_approved(loaded)
        with translated_errors(skill.origin, skill.uri):
            if skill.files is None:
                uri = live_uri(skill, path)
                content = await self._live(loaded, uri)
            elif (file := listed_file(skill, path)) is not None:
                uri, content = file.uri, await self._verified(loaded, file)
            else:  # whatever the server has there now, it is no file of the skill
                raise VerificationError(skill.origin, unlisted_finding(skill, path))
        await self.must_be_approved(loaded)
        return Reading(
            skill.label, uri, content, file_text(skill, display_path(skill, uri), shown_text(content))
        )

    async def _look_again(self, loaded: LoadedSkill) -> None:
        loaded.skill, loaded.changed = await self._places.lookup(*loaded.skill.identity), ""

    async def _verified(self, loaded: LoadedSkill, file: FileClaim) -> bytes:
        """Return the bytes that the held entry promises (H15)."""
        try:
            content = await self._places.content(loaded.skill, file)
        except (VerificationError, UnavailableError) as error:
            raise await self._failure(loaded, error) from error
        return content if file.size is not None else self._counted(loaded, file.uri, content)

    async def _live(self, loaded: LoadedSkill, uri: str) -> bytes:
        """Return bytes that nobody promised, but for the document of some drafts."""
        skill = loaded.skill
        with translated_errors(skill.origin, uri):
            content = await self._places.place(skill.label).read(uri)
        document = None if skill.claim is None or uri != skill.uri else skill.claim.document
        if document is not None and (faults := tuple(delivery_faults(document, content))):
            raise await self._failure(loaded, VerificationError(skill.origin, *faults))
        return self._counted(loaded, uri, content)

    def _counted(self, loaded: LoadedSkill, uri: str, content: bytes) -> bytes:
        """Return what came, as long as it is not too much in all (H8)."""
        loaded.retrieved += len(content)
        if loaded.retrieved > (limit := self._places.limits.bytes):
            message = f"more than {limit:,} bytes were read of this skill"
            raise VerificationError(loaded.skill.origin, server_problem(uri, Rule.READ_BUDGET, message))
        return content

    async def _failure(self, loaded: LoadedSkill, error: HostError) -> HostError:
        """Ask for the entry as it is now, and return what a failed read means: most often, a change (H15)."""
        try:
            fresh = await self._places.lookup(*loaded.skill.identity)
        except HostError:
            return error
        if not needs_new_approval(loaded.skill, fresh):
            return error
        loaded.changed = str(Changes.between(loaded.skill, fresh))
        return ChangedError(loaded.skill, loaded.changed)


def _line(path: str, size: int | None) -> str:
    return path if size is None else f"{path} ({size:,} bytes)"
