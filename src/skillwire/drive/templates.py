"""Live paths with parameters, as templates: `/users/:id/skill.md` is `skill://app/users/{id}/SKILL.md`."""

from skillwire.drive.paths import Kind
from skillwire.drive.registration import ClientInfo, Descriptor
from skillwire.model.display import one_line, quoted
from skillwire.model.template import SkillTemplate


def skill_template(client: ClientInfo, descriptor: Descriptor, label: str) -> SkillTemplate:
    """Return the skills behind a path with parameters: whoever knows the values can read them."""
    path = descriptor.path
    parts = [
        f"{{{_name(segment, at)}}}" if kind is Kind.PARAMETER else segment
        for at, (segment, kind) in enumerate(zip(path.segments, path.kinds, strict=True))
    ]
    located = "/".join([client.id, *parts])
    told = (descriptor.description or "").strip()
    return SkillTemplate(
        path="/".join([client.id, *parts[:-1]]),
        description=told or f"What {one_line(client.name)} says at {quoted(path.text)}.",
        label=label,
        location=located,
    )


def _name(segment: str, at: int) -> str:
    """Return a parameter as templates spell it: theirs have no hyphen, and begin with a letter."""
    name = segment[1:].replace("-", "_")
    return name if name == segment[1:] and name[0].isalpha() else f"p{at}_{name}"
