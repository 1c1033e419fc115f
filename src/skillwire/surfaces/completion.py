"""Completion: names of skills for the prompt, paths for the resource template."""

from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from skillwire.model.entry import Json
from skillwire.surfaces.base import Answer, Call, Method, Surface
from skillwire.surfaces.offer import Offer
from skillwire.surfaces.prompts import BY_NAME
from skillwire.wire.messages import COMPLETE, FILE_TEMPLATE

_MOST = 100
"""As many as the protocol lets a server send."""


class CompletionSurface(Surface):
    """Finishes what a person has begun to type: what begins that way first, then what contains it."""

    name = "completion"

    def __init__(self, offer: Offer) -> None:
        self._offer = offer

    def methods(self) -> Mapping[str, Method]:
        return {COMPLETE: self.complete}

    async def complete(self, call: Call) -> Answer:
        typed = call.part("argument").text("value")
        found = list(_matching(self._candidates(call), typed))
        values: list[Json] = list(found[:_MOST])
        return Answer({"completion": {"values": values, "total": len(found), "hasMore": len(found) > _MOST}})

    def _candidates(self, call: Call) -> Iterable[str]:
        reference, argument = call.part("ref"), call.part("argument").text("name")
        match reference.params.get("type"), argument:
            case "ref/prompt", "name" if reference.params.get("name") == BY_NAME:
                return self._offer.for_people()
            case "ref/resource", "skill" if reference.params.get("uri") == FILE_TEMPLATE:
                return (unquote(entry.path) for entry in self._offer.catalog.entries.values())
            case "ref/resource", "file" if reference.params.get("uri") == FILE_TEMPLATE:
                return self._files(call)
            case _:
                return ()

    def _files(self, call: Call) -> Iterable[str]:
        """Yield the files of the skill that was chosen before."""
        skill = call.part("context").part("arguments").params.get("skill")
        entries = self._offer.catalog.entries.values()
        entry = next((each for each in entries if skill in {each.path, unquote(each.path)}), None)
        return () if entry is None else (file.path for file in entry.files)


def _matching(candidates: Iterable[str], typed: str) -> Iterable[str]:
    known = list(candidates)
    folded = typed.casefold()
    first = [each for each in known if each.casefold().startswith(folded)]
    begun = set(first)
    return [*first, *(each for each in known if each not in begun and folded in each.casefold())]
