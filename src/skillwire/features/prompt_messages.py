"""The messages of prompts: the `SKILL.md`, or a whole skill, with the arguments that a person passed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from skillwire.core.record import Json, SkillRecord
from skillwire.core.skill_arguments import SkillArguments, TooLongError
from skillwire.errors import BadParamsError
from skillwire.features.content import (
    Frame,
    changed_block,
    document_block,
    fill_document,
    resource_block,
    text_block,
    without_frame,
)
from skillwire.features.visible_skills import VisibleSkills
from skillwire.features.whole_prompts import WholePrompts, has_no_other_files, whole_text
from skillwire.safe_text import quoted

_ONLY_DOCUMENT = "only the `SKILL.md`"
_OTHER_FILES = "The other files that it names are resources beside it."


class PromptScope(StrEnum):
    """How much of a skill its prompt contains."""

    DOCUMENT = "document"
    """The `SKILL.md`. The skill's other files are read when they are needed."""
    WHOLE = "whole"
    """The `SKILL.md` and all other text files, for clients that support only prompts."""


class PromptContent(StrEnum):
    """The form of the content of a skill's prompt."""

    RESOURCE = "resource"
    """The `SKILL.md` as an embedded resource, with its URI."""
    TEXT = "text"
    """The `SKILL.md` as plain text, for clients that refuse embedded resources."""


@dataclass(frozen=True, slots=True)
class PromptBlocks:
    """The contents of the messages of one prompt."""

    blocks: list[dict[str, Json]]
    meta: dict[str, Json] = field(default_factory=dict[str, Json])
    """The files of a whole skill whose exact bytes are in the text. Otherwise empty."""


class PromptMessages:
    """Reads skills for prompts. Refuses skills that people may not start."""

    def __init__(
        self,
        visible_skills: VisibleSkills,
        frame: Frame | None = None,
        content: PromptContent = PromptContent.RESOURCE,
        whole: WholePrompts | None = None,
    ) -> None:
        """With `whole`, prompts contain whole skills as text.

        With a `frame`, the message is always text, because an embedded resource could not name its origin.
        """
        self.frame = frame
        self._as_text = frame is not None or content is PromptContent.TEXT
        self._visible_skills = visible_skills
        self._whole = whole

    async def blocks(self, entry: SkillRecord, values: Mapping[str, str]) -> PromptBlocks:
        """Return the contents of the messages for a skill, with metadata like that of `listed`.

        Only reading shows which files are text, so that the metadata may name fewer files. Raises
        `BadParamsError` if the skill is not for people to start, or if the values are too long.
        """
        whole = await self._whole_blocks(entry, values)
        return PromptBlocks(await self._document_blocks(entry, values)) if whole is None else whole

    def listed(self, entry: SkillRecord | None) -> tuple[dict[str, Json], str]:
        """Return the metadata of a prompt with a whole skill, and a note if it exceeds the limit.

        Either may be empty. The metadata promises that the text has the exact bytes of the files, so a prompt
        with arguments or with a frame has no metadata.
        """
        if entry is None or self._whole is None:
            return {}, ""
        whole = self._whole.whole(entry)
        changes = self.frame is not None or SkillArguments.of(entry.frontmatter).is_declared
        reason = self._whole.reason(entry)
        note = reason if has_no_other_files(entry) or not reason else f"{_ONLY_DOCUMENT}: {reason}"
        return {} if whole is None or changes else whole.meta, note

    async def _document_blocks(self, entry: SkillRecord, values: Mapping[str, str]) -> list[dict[str, Json]]:
        """Return the `SKILL.md`, with a note if the prompt should contain the whole skill but cannot."""
        reading = await self._visible_skills.library.read(entry.uri)
        current, content = reading.served.entry, reading.content
        self._check_for_people(entry, current)
        filled = self._filled(current, content, values)
        frame = self.frame or without_frame
        if filled != content:
            block = changed_block(current, filled.decode(), frame)
        else:
            block = document_block(reading, frame) if self._as_text else resource_block(reading)
        if self._whole is not None and (reason := self._whole.reason(current)):
            if has_no_other_files(current):
                return [block, text_block(f"The skill has no other files; {reason}.")]
            return [block, text_block(f"This is {_ONLY_DOCUMENT}: {reason}. {_OTHER_FILES}")]
        return [block]

    async def _whole_blocks(self, entry: SkillRecord, values: Mapping[str, str]) -> PromptBlocks | None:
        """Return a whole skill as one text block; None if its prompt contains only the `SKILL.md`."""
        whole = None if self._whole is None else self._whole.whole(entry)
        if self._whole is None or whole is None or (read := await self._whole.read(whole)) is None:
            return None
        current, document, others = read
        self._check_for_people(entry, current.entry)
        filled = self._filled(current.entry, document, values)
        block = changed_block(current.entry, whole_text(filled, others), self.frame or without_frame)
        is_exact = self.frame is None and filled == document
        return PromptBlocks([block], current.meta if is_exact else {})

    def _check_for_people(self, offered: SkillRecord, read: SkillRecord) -> None:
        """Raise `BadParamsError` if a skill that was read is not for people to start."""
        if not self._visible_skills.is_for_people(self._visible_skills.deciding_record(offered, read)):
            raise BadParamsError(f"the skill {quoted(offered.name)} is not for people to start")

    def _filled(self, entry: SkillRecord, document: bytes, values: Mapping[str, str]) -> bytes:
        """Return the `SKILL.md` with a person's arguments. Raises `BadParamsError` if they are too long."""
        declared = SkillArguments.of(entry.frontmatter)
        if not values and not declared.is_declared:
            return document
        try:
            return fill_document(document, lambda text: declared.fill(text, values))
        except TooLongError as error:
            raise BadParamsError(str(error)) from error
