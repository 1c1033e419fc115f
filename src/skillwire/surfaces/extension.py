"""The skills extension: `skills/list` and `skills/get`."""

from collections.abc import Mapping

from skillwire.catalog.library import Library
from skillwire.model.entry import Json
from skillwire.sources.base import Seal
from skillwire.surfaces.base import Answer, Call, Method, Surface
from skillwire.surfaces.paging import page
from skillwire.wire.messages import EXTENSION, SKILLS_GET, SKILLS_LIST
from skillwire.wire.translate import skill_entry


class ExtensionSurface(Surface):
    """For hosts that know of skills. Answers whoever asks, declared or not (S3)."""

    name = "extension"

    def __init__(self, library: Library) -> None:
        self._library = library

    def methods(self) -> Mapping[str, Method]:
        return {SKILLS_LIST: self.list, SKILLS_GET: self.get}

    def extensions(self) -> Mapping[str, Mapping[str, Json]]:
        return {EXTENSION: {}}

    def seal(self, method: str, call: Call) -> Seal | None:
        if method == SKILLS_LIST:
            return self._library.seal()
        return self._library.seal() if self._library.surely_has(call.params.get("uri")) else None

    async def list(self, call: Call) -> Answer:
        catalog = self._library.catalog
        shown = page(catalog.listing, catalog.positions.get, of=SKILLS_LIST, cursor=call.cursor())
        return Answer(shown.result("skills", [skill_entry(catalog.entries[uri]) for uri in shown.keys]))

    async def get(self, call: Call) -> Answer:
        return Answer({"skill": skill_entry(await self._library.skill(call.text("uri")))})
