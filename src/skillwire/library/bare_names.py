"""Which skill is called by its bare name, and the names of all others (S17)."""

from collections.abc import Sequence
from urllib.parse import unquote

from skillwire.core.record import SkillRecord


def bare_name_owner(sharing: Sequence[SkillRecord]) -> SkillRecord | None:
    """Return the skill that is called by its bare name, or None if none of the skills is.

    `sharing` contains all skills with this name, in the order of their sources. If there are several, the
    name belongs to the skill from the first of the operator's own sources that has one or, if this source has
    several, to the skill at its root. A server's skill never takes a name from another skill (H10).
    """
    if len(sharing) == 1:
        return sharing[0]
    own = [entry for entry in sharing if not entry.origin.foreign]
    first = [entry for entry in own if entry.origin.source == own[0].origin.source]
    if len(first) > 1:
        first = [entry for entry in first if entry.path == entry.name]
    return first[0] if first else None


def full_name(entry: SkillRecord) -> str:
    """Return the name of a skill that is not called by its bare name.

    The name is the skill path or, if the path has only one segment, `label/path` with the source's label.
    """
    path = unquote(entry.path)
    return path if "/" in entry.path else f"{entry.origin.source}/{path}"
