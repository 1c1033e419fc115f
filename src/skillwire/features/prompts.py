"""Skills as MCP prompts: one for each skill, one by name, and those of skills written in code."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING

from skillwire.core.record import Json, SkillRecord
from skillwire.errors import BadParamsError
from skillwire.features.base import Answer, Call, Feature, ListKind, Method, page
from skillwire.features.catalog_text import CHARACTERS_PER_TOKEN, DEFAULT_TOKENS
from skillwire.features.content import (
    Frame,
    document_block,
    resource_block,
    text_block,
    with_meta,
    without_frame,
)
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.catalog import Catalog, CatalogMemo
from skillwire.library.change import Change
from skillwire.library.names import did_you_mean
from skillwire.protocol.messages import PROMPTS_GET, PROMPTS_LIST, RESOURCES_META, SKILL_META
from skillwire.safe_text import collapse_lines, quote_if_needed, quoted

if TYPE_CHECKING:
    from skillwire.authoring.skill import Skill

BY_NAME = "skill"
"""The prompt that takes the name of a skill. The prompt of a skill with this name is named by its URI."""


class AuthoredPromptsFeature(Feature):
    """Prompts of skills written in code.

    Each returns its whole skill with references, and ignores arguments.
    """

    name = "authored prompts"

    def __init__(self, prompts: "Mapping[str, Skill]") -> None:
        self._prompts = dict(prompts)
        self._places = {name: place for place, name in enumerate(self._prompts)}

    def methods(self) -> Mapping[str, Method]:
        return {PROMPTS_LIST: self.list, PROMPTS_GET: self.get}

    def claims(self, method: str, call: Call) -> bool:
        return method == PROMPTS_GET and call.params.get("name") in self._prompts

    async def list(self, call: Call) -> Answer:
        names = list(self._prompts)
        shown = page(names, self._places.get, of=PROMPTS_LIST, cursor=call.cursor())
        described: list[Json] = [describe_prompt(name, self._prompts[name]) for name in shown.keys]
        return Answer(shown.result("prompts", described))

    async def get(self, call: Call) -> Answer:
        name = call.text("name")
        if (skill := self._prompts.get(name)) is None:
            hint = did_you_mean(name, self._prompts)
            raise BadParamsError(f"there is no prompt {quoted(name)}" + (f"; {hint}" if hint else ""))
        return render_prompt(skill)


def describe_prompt(name: str, skill: "Skill") -> dict[str, Json]:
    """Return the list entry of a prompt. Its `_meta` names the resources that its text is made of."""
    meta: dict[str, Json] = {SKILL_META: skill.uri, RESOURCES_META: list(skill.uris())}
    return {"name": name, "description": collapse_lines(skill.description), "_meta": meta}


def render_prompt(skill: "Skill") -> Answer:
    """Return a whole skill as one user message."""
    message: Json = {"role": "user", "content": text_block(skill.prompt_text())}
    return Answer({"description": collapse_lines(skill.description), "messages": [message]})


class PromptContent(StrEnum):
    """The form of the content of a skill's prompt."""

    RESOURCE = "resource"
    """The `SKILL.md` as an embedded resource, with its URI."""
    TEXT = "text"
    """The `SKILL.md` as plain text, for clients that refuse embedded resources."""


class PromptsFeature(Feature):
    """Offers skills as prompts, for people to start.

    Enforces visibility in `prompts/get` as well as in the list.
    """

    name = "prompts"

    def __init__(
        self,
        visible_skills: VisibleSkills,
        tokens: int = DEFAULT_TOKENS,
        authored: "Mapping[str, Skill] | None" = None,
        frame: Frame | None = None,
        content: PromptContent = PromptContent.RESOURCE,
    ) -> None:
        """`authored` are prompts written in code. They replace the prompt of a skill with the same name.

        With a `frame`, the message is always text, because an embedded resource could not name its origin.
        """
        self._frame = frame
        self._as_text = frame is not None or content is PromptContent.TEXT
        self._visible_skills = visible_skills
        self._tokens = tokens
        self._authored = dict(authored or {})
        self._prompts = CatalogMemo(self._named)

    def methods(self) -> Mapping[str, Method]:
        return {PROMPTS_LIST: self.list, PROMPTS_GET: self.get}

    def claims(self, method: str, call: Call) -> bool:
        return method == PROMPTS_GET and call.params.get("name") in self._names()

    def lists(self) -> Collection[ListKind]:
        return (ListKind.PROMPTS,)

    def lists_changed(self, change: Change) -> Iterable[ListKind]:
        return (ListKind.PROMPTS,) if self._visible_skills.differs(change, assistant=False) else ()

    async def list(self, call: Call) -> Answer:
        names = self._names()
        places = {name: place for place, name in enumerate(names)}
        shown = page(names, places.get, of=PROMPTS_LIST, cursor=call.cursor())
        return Answer(shown.result("prompts", [self._described(name) for name in shown.keys]))

    async def get(self, call: Call) -> Answer:
        if (authored := self._authored.get(call.text("name"))) is not None:
            return render_prompt(authored)
        entry = self._find_requested(call)
        reading = await self._visible_skills.library.read(entry.uri)
        if not self._visible_skills.is_for_people(
            self._visible_skills.deciding_record(entry, reading.served.entry)
        ):
            raise BadParamsError(f"the skill {quoted(entry.name)} is not for people to start")
        block = (
            document_block(reading, self._frame or without_frame)
            if self._as_text
            else resource_block(reading)
        )
        message: Json = {"role": "user", "content": block}
        return Answer({"description": self._description(entry), "messages": [message]})

    def _description(self, entry: SkillRecord) -> str:
        """Return the description of a skill. From another server, it is quoted with its origin."""
        text = collapse_lines(entry.shown_description)
        return text if self._frame is None else f"{entry.origin.source} says: {quoted(text, None)}"

    def _names(self) -> "list[str]":
        prompts = self._prompts.of(self._visible_skills.catalog)
        own = (BY_NAME, *self._authored)
        return [*dict.fromkeys(own), *(name for name in prompts if name not in self._authored)]

    def _described(self, name: str) -> dict[str, Json]:
        if (authored := self._authored.get(name)) is not None:
            return describe_prompt(name, authored)
        return (
            self._by_name()
            if name == BY_NAME
            else self._own(name, self._prompts.of(self._visible_skills.catalog)[name])
        )

    def _find_requested(self, call: Call) -> SkillRecord:
        name = call.text("name")
        if name != BY_NAME:
            prompts = self._prompts.of(self._visible_skills.catalog)
            if name not in prompts:
                hint = did_you_mean(name, self._names())
                raise BadParamsError(f"there is no prompt {quoted(name)}" + (f"; {hint}" if hint else ""))
            return prompts[name]
        requested = call.part("arguments").text("name")
        entry = self._visible_skills.names.find(requested, offered=self._visible_skills.for_people())
        if not self._visible_skills.is_for_people(entry):
            raise BadParamsError(f"the skill {quoted(requested)} is not for people to start")
        return entry

    def _named(self, _catalog: Catalog) -> dict[str, SkillRecord]:
        skills = (
            self._visible_skills.for_people()
        )  # `_catalog` is the current catalogue, which this uses, too
        return {entry.root if name == BY_NAME else name: entry for name, entry in skills.items()}

    def _by_name(self) -> dict[str, Json]:
        budget = self._tokens * CHARACTERS_PER_TOKEN
        names = list(self._visible_skills.for_people())
        lengths = accumulate(len(name) + 2 for name in names)
        shown = sum(length <= budget for length in lengths)
        rest = f" and {len(names) - shown:,} more" if shown < len(names) else ""
        skills = f" Skills: {', '.join(map(quote_if_needed, names[:shown]))}{rest}." if names else ""
        argument: Json = {"name": "name", "description": "The name of the skill.", "required": True}
        description = f"Start a skill by its name.{skills}"
        return {"name": BY_NAME, "description": description, "arguments": [argument]}

    def _own(self, name: str, entry: SkillRecord) -> dict[str, Json]:
        return with_meta({"name": name, "description": self._description(entry)}, entry)
