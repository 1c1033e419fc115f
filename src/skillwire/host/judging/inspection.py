"""All that can be said of a skill without reading a file of it (H11)."""

from dataclasses import dataclass

from skillwire.host.hosted import HostedSkill
from skillwire.host.judging.changes import Changes
from skillwire.host.paths import shown_path
from skillwire.host.session.permissions import wishes


@dataclass(frozen=True, slots=True)
class InspectedFile:
    """A file that the entry promises."""

    path: str
    size: int | None
    digest: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """A skill before it is approved."""

    skill: HostedSkill
    files: tuple[InspectedFile, ...] | None
    """None where content is made when it is read."""
    wishes: tuple[str, ...]
    """What its frontmatter asks for. Approval grants none of it (H21)."""
    changes: Changes | None
    """What is different from the version that was approved; None if none was."""

    @property
    def size(self) -> int | None:
        """The bytes of all files together, where they are known."""
        sizes = [file.size for file in self.files or ()]
        return None if self.files is None or None in sizes else sum(size or 0 for size in sizes)


def inspected(skill: HostedSkill, changes: Changes | None = None) -> Inspection:
    """Return what the entry says, in a form that can be shown."""
    entry = skill.skill
    files = tuple(
        InspectedFile(shown_path(entry, file.uri), file.size, file.digest.text) for file in entry.files or ()
    )
    return Inspection(skill, None if entry.files is None else files, wishes(entry), changes)
