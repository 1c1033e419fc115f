"""Advice on descriptions: what to change so that every client shows them whole, and models find them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from skillwire.search.doctor import limits
from skillwire.search.doctor.offer import OfferedSkill
from skillwire.search.doctor.similar import Duplicate

_WHEN = re.compile(
    r"\b(?:use[sd]?|using|useful|invoke|trigger(?:s|ed)?|apply|load|consult)\b.{0,40}?"
    r"\b(?:when|whenever|for|if|to|on|before|after|during|by|as|it|this|proactively)\b"
    r"|\b(?:when|whenever|if)\b",
    re.IGNORECASE | re.DOTALL,
)
_LATIN = re.compile(r"[A-Za-z]")
_SHARE = 0.5
"""Share of the letters that must be English ones, so that the words for "when" can be looked for."""


class About(StrEnum):
    """What an advice is about."""

    LENGTH = "length"
    WHEN = "when"
    """The description does not say when to use the skill."""
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class Advice:
    """What is wrong with a description, and what to do about it."""

    name: str
    about: About
    message: str
    fix: str


def advise(skills: Iterable[OfferedSkill], duplicates: Sequence[Duplicate]) -> list[Advice]:
    """Return the advice on each description, in the order of the skills."""
    similar = {each.name: each for each in duplicates}
    found: list[Advice] = []
    for skill in skills:
        found += _on_length(skill)
        if skill.description and not skill.when_to_use and _lacks_when(skill.description):
            message = "the description does not say when to use the skill"
            found.append(Advice(skill.handle, About.WHEN, message, "add a sentence such as `Use when …`"))
        if (duplicate := similar.get(skill.handle)) is not None:
            share = f"{duplicate.similarity:.0%} of its words"
            fix = "say what only this skill does, or merge the two"
            message = f"the description is nearly that of `{duplicate.of}` ({share})"
            found.append(Advice(skill.handle, About.DUPLICATE, message, fix))
    return found


def _on_length(skill: OfferedSkill) -> list[Advice]:
    length, cut = len(skill.description), limits.VSCODE_DESCRIPTION.value
    most = limits.LISTED_DESCRIPTION.value
    if not length:
        fix = "write what the skill does, and when to use it"
        return [
            Advice(skill.handle, About.LENGTH, "there is no description, so Codex refuses the skill", fix)
        ]
    if length > cut:
        message = (
            f"the description has {length:,} characters: VS Code cuts it at {cut:,}, "
            "Codex and strict clients refuse it"
        )
        return [Advice(skill.handle, About.LENGTH, message, f"shorten it by {length - cut:,} characters")]
    together = len(f"{skill.description} {skill.when_to_use}".strip())
    if together > most:
        message = f"description and `when_to_use` have {together:,} characters: Claude Code cuts at {most:,}"
        return [
            Advice(skill.handle, About.LENGTH, message, f"shorten them by {together - most:,} characters")
        ]
    return []


def _lacks_when(text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    return len(_LATIN.findall(text)) > _SHARE * letters and _WHEN.search(text) is None
