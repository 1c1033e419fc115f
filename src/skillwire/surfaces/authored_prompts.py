"""Prompts of skills written in code: the same bytes as their resources, in one message."""

from collections.abc import Mapping

from skillwire.authoring.skill import Skill
from skillwire.catalog.names import did_you_mean
from skillwire.model.display import one_line, quoted
from skillwire.model.entry import Json
from skillwire.model.errors import BadParamsError
from skillwire.surfaces.base import Answer, Call, Method, Surface
from skillwire.surfaces.content import text_block
from skillwire.surfaces.paging import page
from skillwire.wire.messages import PROMPTS_GET, PROMPTS_LIST, SKILL_META


class AuthoredPromptsSurface(Surface):
    """Each prompt is one skill, document and references together. Arguments are of no interest."""

    name = "authored prompts"

    def __init__(self, prompts: Mapping[str, Skill]) -> None:
        self._prompts = dict(prompts)
        self._places = {name: place for place, name in enumerate(self._prompts)}

    def methods(self) -> Mapping[str, Method]:
        return {PROMPTS_LIST: self.list, PROMPTS_GET: self.get}

    async def list(self, call: Call) -> Answer:
        names = list(self._prompts)
        shown = page(names, self._places.get, of=PROMPTS_LIST, cursor=call.cursor())
        return Answer(shown.result("prompts", [_prompt(name, self._prompts[name]) for name in shown.keys]))

    async def get(self, call: Call) -> Answer:
        name = call.text("name")
        if (skill := self._prompts.get(name)) is None:
            meant = did_you_mean(name, self._prompts)
            raise BadParamsError(f"there is no prompt {quoted(name)}" + (f"; {meant}" if meant else ""))
        message: Json = {"role": "user", "content": text_block(skill.prompt_text())}
        return Answer({"description": one_line(skill.description), "messages": [message]})


def _prompt(name: str, skill: Skill) -> dict[str, Json]:
    return {"name": name, "description": one_line(skill.description), "_meta": {SKILL_META: skill.uri}}
