"""Prompts for people: `skill` takes a name, and every skill has a prompt of its own."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING

from skillwire.catalog.change import Change
from skillwire.catalog.derived import Derived
from skillwire.catalog.names import did_you_mean
from skillwire.catalog.snapshot import Catalog
from skillwire.model.display import bare, one_line, quoted
from skillwire.model.entry import Json, SkillRecord
from skillwire.model.errors import BadParamsError
from skillwire.surfaces.authored_prompts import described_prompt, rendered_prompt
from skillwire.surfaces.base import Answer, Call, ListKind, Method, Surface
from skillwire.surfaces.catalog_text import CHARACTERS_PER_TOKEN, DEFAULT_TOKENS
from skillwire.surfaces.content import Frame, document_block, resource_block, unframed, with_meta
from skillwire.surfaces.offer import Offer
from skillwire.surfaces.paging import page
from skillwire.wire.messages import PROMPTS_GET, PROMPTS_LIST

if TYPE_CHECKING:
    from skillwire.authoring.skill import Skill


BY_NAME = "skill"
"""Our own prompt. A skill of that name goes by its URI here."""


class PromptContent(StrEnum):
    """What the message of a skill's prompt holds."""

    RESOURCE = "resource"
    """The `SKILL.md` as an embedded resource, with its URI."""
    TEXT = "text"
    """The `SKILL.md` as plain text, for clients that refuse embedded resources."""


class PromptsSurface(Surface):
    """Lets a person start a skill. Visibility is enforced here, not only shown."""

    name = "prompts"

    def __init__(
        self,
        offer: Offer,
        tokens: int = DEFAULT_TOKENS,
        authored: "Mapping[str, Skill] | None" = None,
        frame: Frame | None = None,
        content: PromptContent = PromptContent.RESOURCE,
    ) -> None:
        """`authored` are prompts that were named in code; they replace a skill's own prompt of that name.

        With a `frame`, the message is always a text: an embedded resource could not say whose it is.
        """
        self._frame = frame
        self._as_text = frame is not None or content is PromptContent.TEXT
        self._offer = offer
        self._tokens = tokens
        self._authored = dict(authored or {})
        self._prompts = Derived(self._named)

    def methods(self) -> Mapping[str, Method]:
        return {PROMPTS_LIST: self.list, PROMPTS_GET: self.get}

    def claims(self, method: str, call: Call) -> bool:
        return method == PROMPTS_GET and call.params.get("name") in self._names()

    def lists(self) -> Collection[ListKind]:
        return (ListKind.PROMPTS,)

    def lists_changed(self, change: Change) -> Iterable[ListKind]:
        return (ListKind.PROMPTS,) if self._offer.differs(change, assistant=False) else ()

    async def list(self, call: Call) -> Answer:
        names = self._names()
        places = {name: place for place, name in enumerate(names)}
        shown = page(names, places.get, of=PROMPTS_LIST, cursor=call.cursor())
        return Answer(shown.result("prompts", [self._described(name) for name in shown.keys]))

    async def get(self, call: Call) -> Answer:
        if (authored := self._authored.get(call.text("name"))) is not None:
            return rendered_prompt(authored)
        entry = self._asked_for(call)
        reading = await self._offer.library.read(entry.uri)
        if not self._offer.is_for_people(self._offer.decisive(entry, reading.served.entry)):
            raise BadParamsError(f"the skill {quoted(entry.name)} is not for people to start")
        block = document_block(reading, self._frame or unframed) if self._as_text else resource_block(reading)
        message: Json = {"role": "user", "content": block}
        return Answer({"description": self._description(entry), "messages": [message]})

    def _description(self, entry: SkillRecord) -> str:
        """Return what a skill is for. If others wrote that, it is a quotation that says from whom."""
        told = one_line(entry.shown_description)
        return told if self._frame is None else f"{entry.origin.source} says: {quoted(told, None)}"

    def _names(self) -> "list[str]":
        prompts = self._prompts.of(self._offer.catalog)
        own = (BY_NAME, *self._authored)
        return [*dict.fromkeys(own), *(name for name in prompts if name not in self._authored)]

    def _described(self, name: str) -> dict[str, Json]:
        if (authored := self._authored.get(name)) is not None:
            return described_prompt(name, authored)
        return (
            self._by_name()
            if name == BY_NAME
            else self._own(name, self._prompts.of(self._offer.catalog)[name])
        )

    def _asked_for(self, call: Call) -> SkillRecord:
        name = call.text("name")
        if name != BY_NAME:
            prompts = self._prompts.of(self._offer.catalog)
            if name not in prompts:
                meant = did_you_mean(name, self._names())
                raise BadParamsError(f"there is no prompt {quoted(name)}" + (f"; {meant}" if meant else ""))
            return prompts[name]
        wanted = call.part("arguments").text("name")
        entry = self._offer.names.find(wanted, offered=self._offer.for_people())
        if not self._offer.is_for_people(entry):
            raise BadParamsError(f"the skill {quoted(wanted)} is not for people to start")
        return entry

    def _named(self, _catalog: Catalog) -> dict[str, SkillRecord]:
        skills = self._offer.for_people()  # of the same catalogue: it is the current one
        return {entry.root if name == BY_NAME else name: entry for name, entry in skills.items()}

    def _by_name(self) -> dict[str, Json]:
        budget = self._tokens * CHARACTERS_PER_TOKEN
        names = list(self._offer.for_people())
        lengths = accumulate(len(name) + 2 for name in names)
        shown = sum(length <= budget for length in lengths)
        rest = f" and {len(names) - shown:,} more" if shown < len(names) else ""
        skills = f" Skills: {', '.join(map(bare, names[:shown]))}{rest}." if names else ""
        argument: Json = {"name": "name", "description": "The name of the skill.", "required": True}
        description = f"Start a skill by its name.{skills}"
        return {"name": BY_NAME, "description": description, "arguments": [argument]}

    def _own(self, name: str, entry: SkillRecord) -> dict[str, Json]:
        return with_meta({"name": name, "description": self._description(entry)}, entry)
