"""Questions to a person, and the answers. A question holds all that is known before any file is read."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from skillwire.host.hosted import HostedSkill
from skillwire.host.judging.inspection import Inspection
from skillwire.model.display import bare, quoted
from skillwire.wire.dialect import Dialect

_SHOWN = 2000
"""Characters of a command or a URI that a question shows."""
_SHOWN_FILES = 30


class Answer(StrEnum):
    """The answer of a person: no, once, or keep."""

    NO = "no"
    ONCE = "once"
    """For this session; a foreign read or an execution, for this one time."""
    KEEP = "keep"
    """Also after it, for as long as the skill stays what it is. An execution, for this session."""


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """May the model load this skill, and read its files?"""

    inspection: Inspection
    """What there is to know: whose it is, its files with their sizes, and what is different from before."""
    acting: tuple[HostedSkill, ...] = ()
    """Skills of servers that the model acts on already: one of them may have led it here."""
    can_be_kept: bool = False
    """Whether `KEEP` is more than `ONCE`: each file has a digest, and there is where to keep it."""

    @property
    def skill(self) -> HostedSkill:
        return self.inspection.skill

    def __str__(self) -> str:
        """Say it so that a person can decide, with nothing in it that a terminal would obey (H23, H27)."""
        skill, changes = self.skill, self.inspection.changes
        lines = [
            f"Load the skill {skill.quoted} from the {skill.origin}?",
            f"It is described as: {quoted(skill.description, None)}",
            f"Its address there: {quoted(skill.skill.uri, _SHOWN)}",
        ]
        if skill.skill.dialect is not Dialect.FINAL:
            lines.append(f"Its server speaks an earlier draft: `{skill.skill.dialect}`.")
        if self.acting:
            lines.append(f"The model already acts on {_named(self.acting)}, which may have led it here.")
        if changes is not None:
            lines.append(f"It was approved before, and has changed: {changes}")
        lines += _files(self.inspection)
        if wishes := self.inspection.wishes:
            lines.append(f"It asks for this, which approval does not grant: {', '.join(map(quoted, wishes))}")
        lines.append("Whoever runs that server wrote it. Nobody has checked what it tells a model to do.")
        return "\n".join(lines)


def _files(inspection: Inspection) -> Iterator[str]:
    if (files := inspection.files) is None:
        yield "It has no list of files: its content can be different each time it is read."
        return
    size = "" if inspection.size is None else f" of {inspection.size:,} bytes in all"
    yield f"It has {len(files):,} file{'s' * (len(files) != 1)}{size}:"
    for file in files[:_SHOWN_FILES]:
        yield f"  {bare(file.path)}{'' if file.size is None else f' ({file.size:,} bytes)'}"
    if (more := len(files) - _SHOWN_FILES) > 0:
        yield f"  and {more:,} more"


@dataclass(frozen=True, slots=True)
class ExecutionRequest:
    """May this code run while these skills are loaded (H21)?"""

    what: str
    """The command or program, as the tool would run it."""
    skills: tuple[HostedSkill, ...]

    def __str__(self) -> str:
        return f"Run this, while the model acts on {_named(self.skills)}?\n  {quoted(self.what, _SHOWN)}"


@dataclass(frozen=True, slots=True)
class ForeignReadRequest:
    """May one server be read while a skill of another is loaded (H22)?"""

    skills: tuple[HostedSkill, ...]
    """Those that may be behind it."""
    server: str
    """The label of the one that would be asked."""
    uri: str

    def __str__(self) -> str:
        asked = f"Read this from {quoted(self.server)}, while the model acts on {_named(self.skills)}?"
        return f"{asked}\n  {quoted(self.uri, _SHOWN)}"


def _named(skills: tuple[HostedSkill, ...]) -> str:
    return ", ".join(f"{each.quoted} of the {each.origin}" for each in skills)


Request: TypeAlias = LoadRequest | ExecutionRequest | ForeignReadRequest
"""Any question that a person is asked."""
Approver: TypeAlias = Callable[[Request], Awaitable[Answer]]
"""A function that asks a person. It gets one request at a time."""


async def nobody(_request: Request) -> Answer:
    """Say no: there is nobody to ask (H30)."""
    return Answer.NO
