"""Skills as MCP prompts: one for each skill or template, one that takes a name, and prompts from code."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import unquote

from skillwire.core.names import SCHEME, SKILL_FILE
from skillwire.core.record import Json, SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.errors import BadParamsError
from skillwire.features.base import Answer, Call, Feature, ListKind, Method, page, page_from
from skillwire.features.catalog_text import CHARACTERS_PER_TOKEN, DEFAULT_TOKENS
from skillwire.features.content import text_block, with_meta
from skillwire.features.prompt_arguments import (
    by_name_arguments,
    label_of,
    prompt_arguments,
    template_values,
    values_to_fill,
)
from skillwire.features.prompt_messages import PromptMessages
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.bare_names import full_name
from skillwire.library.catalog import Catalog
from skillwire.library.change import Change
from skillwire.library.memo import CatalogMemo
from skillwire.library.names import did_you_mean
from skillwire.library.template_overlaps import explain_taken
from skillwire.protocol.messages import PROMPTS_GET, PROMPTS_LIST, RESOURCES_META, SKILL_META
from skillwire.safe_text import collapse_lines, quote_if_needed, quoted

if TYPE_CHECKING:
    from skillwire.authoring.skill import Skill

BY_NAME = "skill"
"""The prompt that takes the name of a skill. A skill with this name gets a prompt with a longer name."""


class AuthoredPromptsFeature(Feature):
    """Prompts of skills written in code.

    Each prompt returns its whole skill with references, and ignores arguments.
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
    """Return the list entry of a prompt. Its `_meta` lists the URIs of the resources in its text."""
    meta: dict[str, Json] = {SKILL_META: skill.uri, RESOURCES_META: list(skill.uris())}
    return {"name": name, "description": collapse_lines(skill.description), "_meta": meta}


def render_prompt(skill: "Skill") -> Answer:
    """Return a whole skill as one user message."""
    message: Json = {"role": "user", "content": text_block(skill.prompt_text())}
    return Answer({"description": collapse_lines(skill.description), "messages": [message]})


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
        messages: PromptMessages | None = None,
    ) -> None:
        """`authored` are prompts written in code. They replace the prompt of a skill with the same name."""
        self._messages = messages or PromptMessages(visible_skills)
        self._frame = self._messages.frame
        self._visible_skills = visible_skills
        self._tokens = tokens
        self._authored = dict(authored or {})
        self._own = tuple(dict.fromkeys((BY_NAME, *self._authored)))
        self._positions = {name: position for position, name in enumerate(self._own)}
        self._list_text = CatalogMemo(self._describe_by_name)

    def methods(self) -> Mapping[str, Method]:
        return {PROMPTS_LIST: self.list, PROMPTS_GET: self.get}

    def claims(self, method: str, call: Call) -> bool:
        name = call.params.get("name")
        return method == PROMPTS_GET and isinstance(name, str) and self._position(name) is not None

    def lists(self) -> Collection[ListKind]:
        return (ListKind.PROMPTS,)

    def lists_changed(self, change: Change) -> Iterable[ListKind]:
        differs = self._visible_skills.differs(change, assistant=False) or any(
            self._messages.listed(edit.before) != self._messages.listed(edit.after) for edit in change.edits
        )
        return (ListKind.PROMPTS,) if differs else ()

    async def list(self, call: Call) -> Answer:
        shown = page_from(self._names_from, self._position, of=PROMPTS_LIST, cursor=call.cursor())
        return Answer(shown.result("prompts", [self._described(name) for name in shown.keys]))

    async def get(self, call: Call) -> Answer:
        if (authored := self._authored.get(call.text("name"))) is not None:
            return render_prompt(authored)
        described, values = self._requested_skill(call)
        entry = await self._visible_skills.confirmed(described)
        made = await self._messages.blocks(entry, values)
        messages: Json = [{"role": "user", "content": block} for block in made.blocks]
        result: dict[str, Json] = {"description": self._description(entry), "messages": messages}
        return Answer({**result, "_meta": made.meta} if made.meta else result)

    def _description(self, prompt: SkillRecord | SkillTemplate) -> str:
        """Return the description of a skill or template. With a frame, it is quoted with its origin."""
        is_template = isinstance(prompt, SkillTemplate)
        text = collapse_lines(prompt.description if is_template else prompt.shown_description)
        return text if self._frame is None else f"{label_of(prompt)} says: {quoted(text, None)}"

    def _names_from(self, start: int) -> Iterator[str]:
        """Yield the names of the prompts from a position on: our own, those of skills, those of templates."""
        yield from self._own[start:]
        people, templates = self._visible_skills.for_people(), self._visible_skills.templates_for_people()
        for entry in people.entries(max(0, start - len(self._own))):
            name = _unlike_ours(people.handle(entry.uri), entry, people)
            if name not in self._authored:
                yield name
        before = len(self._own) + len(self._visible_skills.catalog.entries)
        yield from (name for name in list(templates)[max(0, start - before) :] if name not in self._authored)

    def _position(self, name: str) -> int | None:
        """Return the position of a prompt in the list, in which every skill of the catalog has a position."""
        if (own := self._positions.get(name)) is not None:
            return own
        prompt, entries = self._prompt(name), self._visible_skills.catalog.entries
        if isinstance(prompt, SkillRecord):
            return len(self._own) + (entries.position(prompt.uri) or 0)
        templates = [*self._visible_skills.templates_for_people()]
        return None if prompt is None else len(self._own) + len(entries) + templates.index(name)

    def _prompt(self, name: str) -> SkillRecord | SkillTemplate | None:
        """Return the skill or template with a prompt of this name, or None."""
        if (template := self._visible_skills.templates_for_people().get(name)) is not None:
            return template
        people = self._visible_skills.for_people()
        ours = people.get(BY_NAME)
        if ours is not None and name == _unlike_ours(BY_NAME, ours, people):
            return ours
        return None if name == BY_NAME else people.get(name)

    def _described(self, name: str) -> dict[str, Json]:
        if (authored := self._authored.get(name)) is not None:
            return describe_prompt(name, authored)
        if name == BY_NAME:
            description = self._list_text.of(self._visible_skills.catalog)
            return {"name": BY_NAME, "description": description, "arguments": by_name_arguments()}
        prompt = self._prompt(name)
        assert prompt is not None, "the names of the list are those of prompts"
        described: dict[str, Json] = {"name": name, "description": self._description(prompt)}
        if arguments := prompt_arguments(prompt, framed=self._frame is not None):
            described["arguments"] = arguments
        if isinstance(prompt, SkillTemplate):
            return described
        meta, note = self._messages.listed(prompt)
        if note:
            described["description"] = f"{described['description']} ({note})"
        return with_meta(described, prompt, meta)

    def _requested_skill(self, call: Call) -> tuple[SkillRecord, dict[str, str]]:
        """Return the skill of the requested prompt, and the values to fill into its text.

        Raises `BadParamsError` for an unknown prompt or skill, and for a skill that people may not start.
        """
        name, arguments = call.text("name"), call.part("arguments")
        prompt = None if name == BY_NAME else self._prompt(name)
        if name == BY_NAME:
            name = arguments.text("name")
            entry = self._visible_skills.names.find(name, offered=self._offered())
        elif prompt is None:
            hint = did_you_mean(name, self._names_from(0))
            raise BadParamsError(f"there is no prompt {quoted(name)}" + (f"; {hint}" if hint else ""))
        elif isinstance(prompt, SkillTemplate):
            uri = prompt.expand(template_values(prompt, name, arguments))
            self._check_not_taken(prompt, name, uri)
            entry = self._visible_skills.names.find(uri)
        else:
            entry = prompt
        if not self._visible_skills.is_for_people(entry):
            raise BadParamsError(f"the skill {quoted(name)} is not for people to start")
        return entry, values_to_fill(prompt, arguments)

    def _check_not_taken(self, prompt: SkillTemplate, name: str, uri: str) -> None:
        """Raise `BadParamsError` if another template than that of the prompt answers at `uri`."""
        if (owner := self._visible_skills.catalog.template_before(prompt, uri)) is None:
            return
        offered = self._visible_skills.templates_for_people().items()
        other = next((each for each, template in offered if template == owner), None)
        remedy = "use other arguments" if other is None else f"use the prompt {quoted(other)}"
        path = unquote(uri.removeprefix(SCHEME).removesuffix(f"/{SKILL_FILE}"))
        reason = explain_taken(path, owner, remedy)
        raise BadParamsError(f"the prompt {quoted(name)} cannot start this skill; {reason}")

    def _offered(self) -> Iterator[str]:
        """Yield the names for the prompt `BY_NAME`: skills, and templates, whose parameters need values."""
        return chain(self._visible_skills.for_people(), self._visible_skills.templates_for_people())

    def _describe_by_name(self, _catalog: Catalog) -> str:
        """Return the description of the prompt `BY_NAME`, which has as many names as fit."""
        budget = self._tokens * CHARACTERS_PER_TOKEN
        count = len(self._visible_skills.for_people()) + len(self._visible_skills.templates_for_people())
        shown: list[str] = []
        for name in self._offered():
            budget -= len(name) + len(", ")
            if budget < 0:
                break
            shown.append(quote_if_needed(name))
        rest = f" and {count - len(shown):,} more" if len(shown) < count else ""
        skills = f" Skills: {', '.join(shown)}{rest}." if count else ""
        return f"Start a skill by its name.{skills}"


def _unlike_ours(name: str, entry: SkillRecord, taken: Container[str]) -> str:
    """Return the name of a skill's prompt, which is never `BY_NAME`."""
    if name != BY_NAME:
        return name
    full = full_name(entry)
    return full if full not in taken else f"{entry.origin.source}:{unquote(entry.path)}"
