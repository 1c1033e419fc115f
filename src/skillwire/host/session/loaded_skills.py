"""Skills in the context of a model, and verified reads of their files."""

from dataclasses import dataclass, field

from skillwire.core.mime import is_text
from skillwire.core.names import SKILL_FILE
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
from skillwire.host.errors import is_missing, translated_errors
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
from skillwire.host.registry import HostReference, Registry
from skillwire.host.session.model_text import file_text, list_text, shown_text
from skillwire.protocol.claims import FileClaim
from skillwire.protocol.findings import server_problem
from skillwire.protocol.verify import delivery_faults, frontmatter_faults
from skillwire.safe_text import quoted


@dataclass(frozen=True, slots=True)
class Reading:
    """The bytes of a file or resource. They are verified if a digest is listed for them."""

    label: str
    uri: str
    content: bytes
    text: str
    """The content for the model, in a frame that names its origin (H20)."""


class NotLoadedError(RequestError):
    """The name refers to no skill that is loaded (H14)."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the skill {quoted(name)} is not loaded; load it first, with `read_skill`")


@dataclass(slots=True)
class LoadedSkill:
    """A skill in the context of the model."""

    skill: HostedSkill
    """The version that was loaded. Reads are verified against it. Only the user's own skills are updated."""
    retrieved: int = 0
    """Bytes read so far of files without a listed size (H8)."""
    changed: str = ""
    """How the skill has changed on its server, or empty. Reads of a changed skill are refused."""


@dataclass(slots=True)
class LoadedSkills:
    """The skills in the context of the model. `begin` adds a skill, and `end` removes it."""

    loaded: dict[Identity, LoadedSkill] = field(default_factory=dict[Identity, LoadedSkill])

    @property
    def last(self) -> HostedSkill | None:
        """The skill that was loaded last; None if no skill is loaded."""
        return next((each.skill for each in reversed(self.loaded.values())), None)

    def begin(self, loaded: LoadedSkill) -> None:
        self.loaded.pop(loaded.skill.identity, None)  # the skill that was loaded last is at the end
        self.loaded[loaded.skill.identity] = loaded

    def get(self, skill: HostedSkill) -> LoadedSkill:
        """Return a skill as it was loaded. Raises `NotLoadedError` (H14)."""
        if (loaded := self.loaded.get(skill.identity)) is None:
            raise NotLoadedError(skill.handle)
        return loaded

    def find(self, name: str, registry: Registry) -> tuple[LoadedSkill, str]:
        """Return the loaded skill, and the file or folder in it, that a name refers to.

        The skill may not be listed any more. Names resolve as in the registry, so that no skill is mistaken
        for another of the same name (H10). Raises `NotLoadedError`.
        """
        try:
            found = registry.find(name)
        except RequestError:  # a loaded skill may not be listed any more
            found = self._find_loaded(name)
        if found.identity not in self.loaded:
            raise NotLoadedError(name)
        return self.loaded[found.identity], found.path

    def _find_loaded(self, name: str) -> HostReference:
        try:
            return Registry(each.skill for each in self.loaded.values()).find(name)
        except RequestError as error:
            raise NotLoadedError(name) from error

    def end(self, loaded: LoadedSkill) -> None:
        del self.loaded[loaded.skill.identity]

    def foreign(self) -> tuple[HostedSkill, ...]:
        """Return the loaded skills of servers, including changed skills, which are still in the context."""
        return tuple(each.skill for each in self.loaded.values() if not each.skill.local)

    @property
    def changed(self) -> bool:
        """Whether any loaded skill has changed on its server."""
        return any(each.changed for each in self.loaded.values())

    def around(self, label: str, uri: str) -> LoadedSkill | None:
        """Return the innermost loaded skill of a server whose folder contains a URI, or None.

        The URI may have any spelling.
        """
        key = canonical_uri(uri)
        own = (each for each in self.loaded.values() if each.skill.label == label)
        inside = (each for each in own if key.startswith(f"{canonical_uri(each.skill.root)}/"))
        return max(inside, key=lambda each: len(each.skill.root), default=None)


class LoadedFiles:
    """Reads files of loaded skills, for one session."""

    def __init__(self, places: Places, consent: Consent) -> None:
        self._places, self._consent = places, consent

    async def document(self, loaded: LoadedSkill) -> bytes:
        """Return the `SKILL.md` of an approved skill. Raises `HostError`.

        The `SKILL.md` must be text. For a server's skill, its frontmatter must match the claim (H13).
        """
        skill = loaded.skill
        main = skill.main
        content = await (self._live(loaded, skill.uri) if main is None else self._verified(loaded, main))
        # The record of an own skill was made from these bytes. A server's claim may differ from them.
        faults = [] if skill.claim is None else list(frontmatter_faults(skill.claim, content))
        if not is_text(content):
            faults.append(server_problem(skill.uri, Rule.READ_SHAPE, "it is not text"))
        if faults:
            raise await self._failure(loaded, VerificationError(skill.origin, *faults))
        await self.must_be_approved(loaded)  # it may have been revoked meanwhile
        return content

    async def read(self, loaded: LoadedSkill, path: str) -> Reading:
        """Return a file by its path in the skill, or by its URI (H19). Raises `HostError`."""
        try:
            return await self._read(loaded, path)
        except HostError:
            if not loaded.skill.local:
                raise
        await self._refresh(loaded)  # the user may change own files at any time
        return await self._read(loaded, path)

    async def read_or_list(self, loaded: LoadedSkill, path: str) -> str:
        """Return a file, or the list of files in a folder, as text for the model.

        In a dynamic skill, a path that cannot be read as a file is listed as a folder. Raises `HostError`.
        """
        if self.is_folder(loaded, path):
            return await self._list_live(loaded, path, refused_file=None)
        try:
            return (await self.read(loaded, path)).text
        except UnavailableError as error:
            if loaded.skill.files is not None:
                raise
            return await self._list_live(loaded, path, refused_file=error)

    async def _list_live(
        self, loaded: LoadedSkill, path: str, *, refused_file: UnavailableError | None
    ) -> str:
        """Return the list of files in a folder. `refused_file` is the error of reading it as a file."""
        try:
            return await self.list(loaded, path)
        except VerificationError as error:
            if refused_file is None:
                raise
            message = f"it is not a file, or cannot be read; {error.problems[0].message}"
            raise UnavailableError(loaded.skill.origin, f"{quoted(path)}: {message}") from refused_file
        except UnavailableError as error:
            if is_root(path) or not is_missing(error) or not is_missing(refused_file or error):
                raise refused_file or error from None
            message = f"the skill has no file or folder {quoted(path)}; an empty path lists its files"
            raise UnavailableError(loaded.skill.origin, message) from error

    async def list(self, loaded: LoadedSkill, path: str) -> str:
        """Return the list of files below a folder, as text for the model. Raises `HostError`.

        A skill that lists files has no others (H16). For a dynamic skill, the server is asked for the direct
        children of the folder.
        """
        if loaded.skill.local:
            await self._refresh(loaded)
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

    def has(self, loaded: LoadedSkill, path: str) -> bool:
        """Return whether the skill may have a file or folder at a path or URI. Makes no request.

        A dynamic skill may have a file at any path below its folder, unless the file's name is `SKILL.md`.
        """
        skill = loaded.skill
        try:
            if skill.files is None:
                if "://" in path and not path.startswith(f"{skill.root}/"):
                    return False
                return live_uri(skill, path).rpartition("/")[2].lower() != SKILL_FILE.lower()
            return listed_file(skill, path) is not None or bool(files_below(skill, path))
        except VerificationError:  # the path is not below the folder of the skill
            return False

    def is_folder(self, loaded: LoadedSkill, path: str) -> bool:
        """Return whether a path is known to be a folder of the skill. Makes no request.

        A path that ends in a slash counts as a folder.
        """
        skill = loaded.skill
        if is_root(path) or path.endswith("/"):
            return True
        if skill.files is None or "://" in path:
            return False
        with translated_errors(skill.origin, skill.uri):
            return listed_file(skill, path) is None and bool(files_below(skill, path))

    async def must_be_approved(self, loaded: LoadedSkill) -> None:
        """Raise `NotApprovedError` if the skill may not be read any more (H15)."""
        if loaded.skill.local:
            return
        if loaded.changed:
            raise ChangedError(loaded.skill, loaded.changed)
        if not await self._consent.is_approved(loaded.skill):
            message = f"the skill {loaded.skill.quoted} is not approved any more"
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
            else:  # whatever the server has there now, it is not a file of the loaded version
                raise VerificationError(skill.origin, unlisted_finding(skill, path))
        await self.must_be_approved(loaded)
        return Reading(
            skill.label, uri, content, file_text(skill, display_path(skill, uri), shown_text(content))
        )

    async def _refresh(self, loaded: LoadedSkill) -> None:
        loaded.skill, loaded.changed = await self._places.lookup(*loaded.skill.identity), ""

    async def _verified(self, loaded: LoadedSkill, file: FileClaim) -> bytes:
        """Return the bytes of a file, verified against the loaded version (H15)."""
        try:
            content = await self._places.content(loaded.skill, file)
        except (VerificationError, UnavailableError) as error:
            raise await self._failure(loaded, error) from error
        return content if file.size is not None else self._counted(loaded, file.uri, content)

    async def _live(self, loaded: LoadedSkill, uri: str) -> bytes:
        """Return the bytes of an unlisted file. A digest that is listed for the `SKILL.md` is checked."""
        skill = loaded.skill
        with translated_errors(skill.origin, uri):
            content = await self._places.place(skill.label).read(uri)
        document = None if skill.claim is None or uri != skill.uri else skill.claim.document
        if document is not None and (faults := tuple(delivery_faults(document, content))):
            raise await self._failure(loaded, VerificationError(skill.origin, *faults))
        return self._counted(loaded, uri, content)

    def _counted(self, loaded: LoadedSkill, uri: str, content: bytes) -> bytes:
        """Count the bytes of `content`, and return it. Raises `VerificationError` above the limit (H8)."""
        loaded.retrieved += len(content)
        if loaded.retrieved > (limit := self._places.limits.bytes):
            message = f"more than {limit:,} bytes were read from this skill"
            raise VerificationError(loaded.skill.origin, server_problem(uri, Rule.READ_BUDGET, message))
        return content

    async def _failure(self, loaded: LoadedSkill, error: HostError) -> HostError:
        """Look up the skill again, and return the error to raise (H15).

        Return `ChangedError` if the skill has changed, else `error`.
        """
        try:
            fresh = await self._places.lookup(*loaded.skill.identity)
        except HostError:
            return error
        if not needs_new_approval(loaded.skill, fresh):
            return error
        loaded.changed = str(Changes.between(loaded.skill, fresh))
        return ChangedError(loaded.skill, loaded.changed)


def is_root(path: str) -> bool:
    """Return whether a path means the folder of the skill itself."""
    return path.strip("/") in {"", "."}


def _line(path: str, size: int | None) -> str:
    return path if size is None else f"{path} ({size:,} bytes)"
