"""Prompts of skills written in code: the same bytes as their resources, in one message."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillwire.catalog.names import did_you_mean
from skillwire.model.display import one_line, quoted
from skillwire.model.entry import Json
from skillwire.model.errors import BadParamsError
from skillwire.surfaces.base import Answer, Call, Method, Surface
from skillwire.surfaces.content import text_block
from skillwire.surfaces.paging import page
from skillwire.wire.messages import PROMPTS_GET, PROMPTS_LIST, RESOURCES_META, SKILL_META

if TYPE_CHECKING:
    from skillwire.authoring.skill import Skill


class AuthoredPromptsSurface(Surface):
    """Each prompt is one skill, document and references together. Arguments are of no interest."""

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
        described: list[Json] = [described_prompt(name, self._prompts[name]) for name in shown.keys]
        return Answer(shown.result("prompts", described))

    async def get(self, call: Call) -> Answer:
        name = call.text("name")
        if (skill := self._prompts.get(name)) is None:
            meant = did_you_mean(name, self._prompts)
            raise BadParamsError(f"there is no prompt {quoted(name)}" + (f"; {meant}" if meant else ""))
        return rendered_prompt(skill)


def described_prompt(name: str, skill: "Skill") -> dict[str, Json]:
    """Return a prompt as lists show it. It says what its text is made of, so that anybody can compare."""
    meta: dict[str, Json] = {SKILL_META: skill.uri, RESOURCES_META: list(skill.uris())}
    return {"name": name, "description": one_line(skill.description), "_meta": meta}


def rendered_prompt(skill: "Skill") -> Answer:
    """Return all of a skill as one message of a person."""
    message: Json = {"role": "user", "content": text_block(skill.prompt_text())}
    return Answer({"description": one_line(skill.description), "messages": [message]})
