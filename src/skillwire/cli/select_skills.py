"""Find the servers' skills that several names and patterns mean."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from skillwire.cli.find import label_of
from skillwire.cli.remote import CommandHost, find, print_causes
from skillwire.cli.targets import skill_targets
from skillwire.config.server_targets import resolve_targets
from skillwire.core.patterns import is_pattern, matches
from skillwire.errors import SkillwireError
from skillwire.host.connections.target import Target
from skillwire.host.host import Host
from skillwire.host.hosted_skill import HostedSkill, Identity
from skillwire.safe_text import quoted


def targets_of(
    skills: Sequence[str], servers: Sequence[str] | None, allow: Sequence[str] | None, token_env: str | None
) -> list[Target]:
    """Return the targets of `servers`, or of the labels in the names and patterns. Raises `UsageError`."""
    if servers or len(skills) == 1:
        return skill_targets(skills[0], servers, allow, token_env)
    labels = dict.fromkeys(label_of(each) for each in skills)
    for each in skills:
        if label_of(each) is None:
            skill_targets(each, None, allow, token_env)  # raises the error
    return resolve_targets([f"{label}:" for label in labels], allow, token_env)


@dataclass(slots=True)
class SelectedSkills:
    """The skills that match names and patterns, each once, and the names and patterns without a match."""

    found: dict[Identity, HostedSkill] = field(default_factory=dict[Identity, HostedSkill])
    named: set[Identity] = field(default_factory=set[Identity])
    """The skills that were named one by one, and not only by a pattern."""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """Why a name or pattern matches no skill."""


async def select_skills(host: CommandHost, wanted: Sequence[str]) -> SelectedSkills:
    """Return the skills that match names and patterns now. A pattern is `LABEL:PATTERN` or `PATTERN`.

    A name without a skill does not affect the others.
    """
    selected = SelectedSkills()
    await host.discover()
    for each in wanted:
        if not is_pattern(each):
            try:
                skill = await find(host, each)
            except SkillwireError as error:
                selected.failed[each] = f"{error}; {error.hint}" if error.hint else str(error)
                continue
            selected.found[skill.identity] = skill
            selected.named.add(skill.identity)
            continue
        found = matching(host, each)
        selected.found |= {skill.identity: skill for skill in found}
        if not found:
            selected.failed[each] = (
                f"no skill on {', '.join(map(quoted, host.labels))} matches {quoted(each)}"
            )
    if any(map(is_pattern, wanted)):
        print_causes(host.registry.problems)
    return selected


def matching(host: Host, pattern: str) -> list[HostedSkill]:
    """Return the listed skills whose name or path matches `LABEL:PATTERN` or `PATTERN`, in list order."""
    label, colon, rest = pattern.partition(":")
    if not colon or label not in host.labels:
        label, rest = "", pattern
    return [
        each
        for each in host.registry
        if not each.local and label in {"", each.label} and matches(rest, each.name, each.path)
    ]
