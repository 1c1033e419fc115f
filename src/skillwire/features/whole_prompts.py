"""Whole skills as prompts: the `SKILL.md` and all other text files in one message."""

from dataclasses import dataclass

from skillwire.core.concurrency import MAX_CONCURRENT_READS, process_in_order
from skillwire.core.mime import is_text, is_text_type
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Digest, Json, SkillFile, SkillRecord
from skillwire.errors import UnsettledError
from skillwire.features.catalog_text import CHARACTERS_PER_TOKEN
from skillwire.library.library import Library, Reading
from skillwire.protocol.messages import RESOURCES_META, SKILL_META
from skillwire.protocol.prompt_text import join_files, joined_size

DEFAULT_PROMPT_TOKENS = 20_000
"""Default size limit of one prompt with a whole skill, in tokens."""
_MAX_ATTEMPTS = 3
"""Maximum number of times that a skill is read if it changes while it is read."""
_MAX_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class WholeSkill:
    """The files of a skill whose text fits into one prompt."""

    entry: SkillRecord
    files: tuple[SkillFile, ...]
    """`SKILL.md` first."""

    @property
    def meta(self) -> dict[str, Json]:
        """The metadata of its prompt, which names the files in its text."""
        return {
            SKILL_META: self.entry.uri,
            RESOURCES_META: [self.entry.uri_of(file.path) for file in self.files],
        }


class WholePrompts:
    """Selects and reads the text files of a skill for its prompt, within a size limit for each skill."""

    def __init__(self, library: Library, tokens: int = DEFAULT_PROMPT_TOKENS) -> None:
        self._library, self._tokens = library, tokens
        self._binary = set[bytes]()
        """Digests of files that are not text, although their names say so."""

    def whole(self, entry: SkillRecord) -> WholeSkill | None:
        """Return the files of a skill that its prompt contains; None if they are too large or live.

        Uses the listed sizes, so nothing is read. Live files have no size.
        """
        files = tuple(file for file in entry.files if isinstance(file, SkillFile) and self._is_text(file))
        size = joined_size((file.path, file.size) for file in files)
        fits = files and size <= self._tokens * CHARACTERS_PER_TOKEN
        return WholeSkill(entry, files) if fits else None

    def reason(self, entry: SkillRecord) -> str:
        """Return why the text of a prompt is only the `SKILL.md`; empty if all text files fit into it.

        The `SKILL.md` is never cut, so that a skill without other files can also exceed the limit.
        """
        if entry.dynamic:
            return "the sizes of its other files are not known" if len(entry.files) > 1 else ""
        if self.whole(entry) is not None:
            return ""
        texts = (file for file in entry.files if isinstance(file, SkillFile) and self._is_text(file))
        size = joined_size((file.path, file.size) for file in texts)
        tokens = -(-size // CHARACTERS_PER_TOKEN)
        what = "its `SKILL.md`" if has_no_other_files(entry) else "the whole skill"
        return f"{what} has about {tokens:,} tokens, and the limit is {self._tokens:,}"

    async def read(self, skill: WholeSkill) -> tuple[WholeSkill, bytes, list[tuple[str, bytes]]] | None:
        """Return the skill as it is now, its `SKILL.md`, and its other text files as pairs of path and bytes.

        Files that turn out to be no text are left out. All files come from the same version of the skill.
        Returns None if the skill is now too large. Raises the errors of `Library.read`, and
        `UnsettledError` if the skill keeps changing.
        """
        for _ in range(_MAX_ATTEMPTS):
            readings = await self._read_files(skill)
            pairs = list(zip(skill.files, readings, strict=True))
            binary = {file.digest.raw for file, each in pairs[1:] if not is_text(each.content)}
            if not binary and all(Digest.of(each.content) == file.digest for file, each in pairs):
                return skill, readings[0].content, [(file.path, each.content) for file, each in pairs[1:]]
            if len(self._binary) < _MAX_REMEMBERED:
                self._binary |= binary
            if (changed := self.whole(readings[0].served.entry)) is None:
                return None
            skill = changed
        raise UnsettledError(skill.entry.uri)

    async def _read_files(self, skill: WholeSkill) -> list[Reading]:
        """Read the files. A file of a nested skill is found as a file of that skill."""
        readings: list[Reading] = []
        at_once = MAX_CONCURRENT_READS if skill.entry.origin.foreign else 1
        uris = [skill.entry.uri_of(file.path) for file in skill.files]
        await process_in_order(uris, self._library.read, readings.append, at_once)
        return readings

    def _is_text(self, file: SkillFile) -> bool:
        if file.path == SKILL_FILE:
            return True
        return is_text_type(file.mime_type) and file.digest.raw not in self._binary


def has_no_other_files(entry: SkillRecord) -> bool:
    """Return whether a skill has no files besides its `SKILL.md`."""
    return len(entry.files) == 1


def whole_text(document: bytes, others: list[tuple[str, bytes]]) -> str:
    """Return the text of a prompt, with the same separators as the prompts of skills written in code."""
    return join_files(document, others).decode()
