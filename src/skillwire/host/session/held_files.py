"""Files of skills that are acted on: those of the held entry, each verified, while a yes holds (H14)."""

from skillwire.host.judging.changes import Changes, is_another
from skillwire.host.judging.consent import Consent
from skillwire.host.paths import files_below, listed_file, live_uri, shown_path, unlisted
from skillwire.host.places import Places
from skillwire.host.refusing import (
    ChangedError,
    HostError,
    NotApprovedError,
    UnavailableError,
    VerificationError,
    told_of,
)
from skillwire.host.session.acting import Held
from skillwire.host.session.reading import Reading
from skillwire.host.session.tagging import file_text, list_text, shown_text
from skillwire.model.mime import is_text
from skillwire.wire.delivered import delivery_faults
from skillwire.wire.findings import Fault, Finding
from skillwire.wire.remote import RemoteFile
from skillwire.wire.verify import frontmatter_faults


class HeldFiles:
    """Reads for one session."""

    def __init__(self, places: Places, consent: Consent) -> None:
        self._places, self._consent = places, consent

    async def document(self, held: Held) -> bytes:
        """Return the `SKILL.md`, having compared it with its entry, field by field (H13)."""
        skill = held.skill
        main = skill.skill.main
        content = await (self._live(held, skill.skill.uri) if main is None else self._verified(held, main))
        faults = list(frontmatter_faults(skill.skill, content))
        if not is_text(content):
            faults.append(Finding(skill.skill.uri, Fault.READ_SHAPE, "it is not text"))
        if faults:
            raise await self._failure(held, VerificationError(skill.origin, *faults))
        await self.must_be_approved(held)  # it may have been taken back meanwhile
        return content

    async def read(self, held: Held, path: str) -> Reading:
        """Return a file by its path in the skill, or by its URI (H19)."""
        try:
            return await self._read(held, path)
        except HostError:
            if not held.skill.local:
                raise
        await self._look_again(held)  # the person may change own files at any time
        return await self._read(held, path)

    async def list(self, held: Held, path: str) -> str:
        """Return the files below a folder, for the model. No folder of the server adds to the entry (H16)."""
        if held.skill.local:
            await self._look_again(held)
        await self.must_be_approved(held)
        skill = held.skill
        with told_of(skill.origin, skill.skill.uri):
            if skill.skill.files is not None:
                below = files_below(skill.skill, path)
                shown = [_line(shown_path(skill.skill, file.uri), file.size) for file in below]
            else:
                folder = live_uri(skill.skill, path).rstrip("/")
                children = await self._places.provider(skill.label).read_directory(folder)
                shown = [shown_path(skill.skill, str(child["uri"])) for child in children]
        if not shown:
            raise VerificationError(skill.origin, unlisted(skill.skill, path))
        return list_text(skill, path, "\n".join(shown))

    def is_folder(self, held: Held, path: str) -> bool:
        """Whether a path means a folder of the skill, as far as one can tell without asking."""
        skill = held.skill
        if path in {"", ".", "./"} or path.endswith("/"):
            return True
        if skill.skill.files is None or "://" in path:
            return False
        with told_of(skill.origin, skill.skill.uri):
            return listed_file(skill.skill, path) is None and bool(files_below(skill.skill, path))

    async def must_be_approved(self, held: Held) -> None:
        """Raise `NotApprovedError` if nothing may be read of it any more (H15)."""
        if held.skill.local:
            return
        if held.changed:
            raise ChangedError(held.skill, held.changed)
        if not await self._consent.covers(held.skill):
            told = f"the approval of the skill {held.skill.quoted} does not hold any more"
            raise NotApprovedError(held.skill.origin, told)

    async def _read(self, held: Held, path: str) -> Reading:
        skill = held.skill
        await self.must_be_approved(held)
        with told_of(skill.origin, skill.skill.uri):
            if skill.skill.files is None:
                uri = live_uri(skill.skill, path)
                content = await self._live(held, uri)
            elif (file := listed_file(skill.skill, path)) is not None:
                uri, content = file.uri, await self._verified(held, file)
            else:  # whatever the server has there now, it is no file of the skill
                raise VerificationError(skill.origin, unlisted(skill.skill, path))
        await self.must_be_approved(held)
        return Reading(
            skill.label, uri, content, file_text(skill, shown_path(skill.skill, uri), shown_text(content))
        )

    async def _look_again(self, held: Held) -> None:
        held.skill, held.changed = await self._places.lookup(*held.skill.identity), ""

    async def _verified(self, held: Held, file: RemoteFile) -> bytes:
        """Return the bytes that the held entry promises (H15)."""
        try:
            content = await self._places.content(held.skill, file)
        except (VerificationError, UnavailableError) as error:
            raise await self._failure(held, error) from error
        return content if file.size is not None else self._counted(held, file.uri, content)

    async def _live(self, held: Held, uri: str) -> bytes:
        """Return bytes that nobody promised, but for the document of some drafts."""
        skill = held.skill
        with told_of(skill.origin, uri):
            content = await self._places.provider(skill.label).read(uri)
        document = skill.skill.document if uri == skill.skill.uri else None
        if document is not None and (faults := tuple(delivery_faults(document, content))):
            raise await self._failure(held, VerificationError(skill.origin, *faults))
        return self._counted(held, uri, content)

    def _counted(self, held: Held, uri: str, content: bytes) -> bytes:
        """Return what came, as long as it is not too much in all (H8)."""
        held.retrieved += len(content)
        if held.retrieved > (limit := self._places.limits.bytes):
            told = f"more than {limit:,} bytes were read of this skill"
            raise VerificationError(held.skill.origin, Finding(uri, Fault.READ_BUDGET, told))
        return content

    async def _failure(self, held: Held, error: HostError) -> HostError:
        """Ask for the entry as it is now, and return what a failed read means: most often, a change (H15)."""
        try:
            fresh = await self._places.lookup(*held.skill.identity)
        except HostError:
            return error
        if not is_another(held.skill.skill, fresh.skill):
            return error
        held.changed = str(Changes.between(held.skill.skill, fresh.skill))
        return ChangedError(held.skill, held.changed)


def _line(path: str, size: int | None) -> str:
    return path if size is None else f"{path} ({size:,} bytes)"
