"""What `skillwire serve` gives to clients for a library: instructions, tool descriptions, and skill entries.

Everything comes from the features that also answer a server's clients.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from skillwire.core.record import Json, SkillRecord, when_to_use
from skillwire.features.base import Call, Feature
from skillwire.features.extension import ExtensionFeature
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.library import Library
from skillwire.protocol.messages import SKILLS_LIST, TOOLS_LIST
from skillwire.safe_text import collapse_lines
from skillwire.search.tool import SearchOptions
from skillwire.server.serve_options import ServeOptions, all_features
from skillwire.sources.memory import MemorySkill, MemorySource

_EXAMPLE = "example-of-the-doctor"
_NAME = re.compile(r"[^\s<>,;`\"'()\[\]|]+")
_ENDS = ".:!?"
_MASK = "\0"


@dataclass(frozen=True, slots=True)
class OfferedSkill:
    """One skill, as its entry in `skills/list` describes it."""

    handle: str
    """The name by which the skill is loaded. No other skill has it."""
    uri: str
    name: str
    description: str
    """The description on one line."""
    when_to_use: str
    manual: bool
    """Whether only people may start the skill."""
    files: tuple[tuple[str, int], ...] | None
    """The URI and size of each file; None for a live skill."""

    @classmethod
    def of(cls, entry: Mapping[str, Any], handles: Mapping[str, str]) -> "OfferedSkill":
        """Return the skill of an entry. `handles` are the names by which skills are loaded, by URI."""
        fields: Mapping[str, Any] = entry["frontmatter"]
        resources: str | list[Any] = entry["resources"]
        described = fields.get("description")
        return cls(
            handles.get(entry["uri"], fields["name"]),
            entry["uri"],
            fields["name"],
            collapse_lines(described).strip() if isinstance(described, str) else "",
            when_to_use(fields),
            fields.get("disable-model-invocation") is True,
            tuple((each["uri"], each["size"]) for each in resources) if isinstance(resources, list) else None,
        )


@dataclass(frozen=True, slots=True)
class Offer:
    """What clients get."""

    instructions: str
    usual: frozenset[str]
    """The lines of the instructions that do not depend on the skills."""
    tools: Mapping[str, str]
    """The description of each tool, by name."""
    listed: Sequence[OfferedSkill]
    """The skills in `skills/list`."""
    every: Sequence[OfferedSkill]
    """All skills, with those that strict clients refuse."""
    for_models: Mapping[str, SkillRecord]
    """The skills that models may load, by the names used for them."""


async def read_offer(library: Library, options: ServeOptions) -> Offer:
    """Return what a server with these options, and with search, gives to clients. The library is loaded."""
    options = replace(options, additions=[*options.additions, SearchOptions()])
    features = all_features(library, options)
    example = MemorySkill(
        _EXAMPLE, {"SKILL.md": f"---\nname: {_EXAMPLE}\ndescription: {_EXAMPLE}\n---\n".encode()}
    )
    other = Library([MemorySource([example])], once=True)
    await other.load()
    usual = _instructions(all_features(other, options)).split("\n")
    visible = VisibleSkills.of(library)
    handles = {
        entry.uri: visible.names.handle(entry)
        for entry in visible.catalog.entries.values()
        if visible.is_visible(entry)
    }

    async def skills(features: Iterable[Feature]) -> list[OfferedSkill]:
        return [OfferedSkill.of(each, handles) for each in await _list(features, SKILLS_LIST, "skills")]

    return Offer(
        _instructions(features),
        frozenset(line for line in usual if _EXAMPLE not in line),
        {str(tool["name"]): str(tool["description"]) for tool in await _list(features, TOOLS_LIST, "tools")},
        await skills(features),
        await skills([ExtensionFeature(library, list_nonconforming=True)]),
        visible.for_models(),
    )


def _instructions(features: Iterable[Feature]) -> str:
    return "\n\n".join(part for feature in features if (part := feature.instructions()))


async def _list(features: Iterable[Feature], method: str, key: str) -> list[dict[str, Any]]:
    """Return all pages of a list."""
    answer = next(methods[method] for feature in features if method in (methods := feature.methods()))
    found: list[dict[str, Any]] = []
    parameters: dict[str, Json] = {}
    while True:
        result: dict[str, Any] = (await answer(Call(parameters, can_change=True))).result
        found += result[key]
        if "nextCursor" not in result:
            return found
        parameters = {"cursor": result["nextCursor"]}


@dataclass(frozen=True, slots=True)
class Seen:
    """What a model sees of one skill in a text."""

    name: bool
    whole: bool
    """Whether the whole description is there, with `when_to_use`."""


def seen_in(text: str, offer: Offer, limit: int | None = None) -> dict[str, Seen]:
    """Return what a model sees of each skill in the first `limit` characters of a text that lists skills.

    Descriptions are masked before names are looked for, because a description may contain other names. The
    lines that every server has are masked first.
    """
    end = len(text) if limit is None else limit
    masked = "\n".join(_MASK * len(line) if line in offer.usual else line for line in text.split("\n"))
    wanted: defaultdict[str, list[str]] = defaultdict(list)
    for name, entry in offer.for_models.items():
        for part in {entry.shown_description, entry.when_to_use}:
            if shown := collapse_lines(part).strip():
                wanted[shown].append(name)
    cut = set[str]()
    for part in sorted(wanted, key=lambda each: (-len(each), each)):
        ends: list[int] = []
        for spelling in dict.fromkeys([_escaped(part), part]):
            while (found := _find(masked, spelling)) >= 0:
                ends.append(found + len(spelling))
                masked = masked[:found] + _MASK * len(spelling) + masked[ends[-1] :]
        # Skills with the same description are listed in the order of `for_models`.
        kept = sum(each <= end for each in ends)
        cut.update(wanted[part][kept:])
    names = {word.strip(_ENDS) for word in _NAME.findall(masked[:end].replace(_MASK, " "))}
    return {name: Seen(_escaped(name) in names, name not in cut) for name in offer.for_models}


def _find(text: str, part: str) -> int:
    """Return the position of `part` in `text` as a whole phrase, or -1."""
    found = text.find(part)
    while found >= 0:
        before, after = text[found - 1 : found], text[found + len(part) : found + len(part) + 1]
        if not (before.isalnum() and part[0].isalnum()) and not (after.isalnum() and part[-1].isalnum()):
            return found
        found = text.find(part, found + 1)
    return -1


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
