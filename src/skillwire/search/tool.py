"""The tool `search-skills`, with which a model finds skills."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from skillwire.core.record import Json
from skillwire.errors import BadParamsError, SkillwireError
from skillwire.features.addition import AddedFeatures
from skillwire.features.base import Call
from skillwire.features.catalog_text import SEARCH_SKILLS
from skillwire.features.content import text_block
from skillwire.features.tools import Tool, structured_result
from skillwire.library.library import Library
from skillwire.library.search import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    Audience,
    SearchIndex,
    SearchResult,
    SearchResults,
)

if TYPE_CHECKING:
    from skillwire.search.ranker import Ranker

_PAUSE = 1.0
"""Seconds after the start before the index is opened or built, so that first requests do not wait."""

_DESCRIPTION = (
    'Find skills for a task. Describe the task in a few words, such as "fill in a PDF form". Returns the '
    "names and descriptions of the skills that fit best. Load the right one with `load-skill`."
)
_RESULT: dict[str, Json] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The name for `load-skill`."},
        "uri": {"type": "string"},
        "description": {"type": "string"},
        "rank": {"type": "integer"},
        "fields": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Where the words are.",
        },
        "snippet": {"type": "string", "description": "A line of the skill with the words."},
    },
    "required": ["name", "uri", "description", "rank", "fields", "snippet"],
}
_OUTPUT: dict[str, Json] = {
    "type": "object",
    "properties": {
        "results": {"type": "array", "items": _RESULT},
        "total": {"type": "integer", "description": "The number of results on all pages."},
        "weak": {"type": "boolean", "description": "Whether no skill fits well."},
        "corrections": {"type": "object", "additionalProperties": {"type": "string"}},
        "incomplete": {"type": "boolean", "description": "Whether skills may be missing for now."},
        "nextCursor": {"type": "string"},
        "fallback": {"type": "string", "description": "Why skills were found by words, not by meaning."},
    },
    "required": ["results", "total", "weak"],
}
_INPUT: dict[str, Json] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What the skill should help with, in a few words."},
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_LIMIT,
            "description": f"The number of results. Default: {DEFAULT_LIMIT}.",
        },
        "cursor": {"type": "string", "description": "The `nextCursor` of the last answer, for more results."},
    },
    "required": ["query"],
}
_ANNOTATIONS: dict[str, Json] = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}


class DeferredSearch(SearchIndex):
    """An index whose code is loaded by the first search, or a moment after the start."""

    def __init__(
        self, library: Library, folder: Path | None, open_ranker: "Callable[[], Ranker] | None" = None
    ) -> None:
        self._library, self._folder, self._open_ranker = library, folder, open_ranker
        self._opened: SearchIndex | None = None

    async def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        audience: Audience = Audience.EVERYONE,
    ) -> SearchResults:
        return await self._open().search(query, limit=limit, cursor=cursor, audience=audience)

    async def follow(self) -> None:
        await anyio.sleep(_PAUSE)
        await self._open().follow()

    def _open(self) -> SearchIndex:
        if self._opened is None:
            from skillwire.search.service import LibrarySearch  # noqa: PLC0415 - a start does not wait for it

            ranker = None if self._open_ranker is None else self._open_ranker()
            self._opened = LibrarySearch(self._library, self._folder, ranker)
        return self._opened


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Adds search to a server. Pass it in `ServeOptions.additions`."""

    folder: Path | None = None
    """Where the index is stored, so that the next start is faster. None keeps it in memory."""
    open_ranker: "Callable[[Library], Ranker] | None" = None
    """Opens a ranker, which changes the order of results. It is called before the first search."""

    def add_to(self, library: Library) -> AddedFeatures:
        """Return the tool `search-skills`. The library's index is built in the background."""
        opened = None if self.open_ranker is None else partial(self.open_ranker, library)
        library.use_index(DeferredSearch(library, self.folder, opened))
        return AddedFeatures(tools=[search_tool(library)])


def search_tool(library: Library) -> Tool:
    """Return the tool `search-skills`, which finds skills that models may load."""

    async def run(arguments: Call) -> dict[str, Json]:
        try:
            query, limit = arguments.text("query"), _limit(arguments.params)
            cursor = arguments.cursor()
            found = await library.search(query, limit=limit, cursor=cursor, audience=Audience.MODELS)
        except SkillwireError as error:
            return {"content": [text_block(str(error))], "isError": True}
        return structured_result(as_json(found))

    return Tool(SEARCH_SKILLS, _DESCRIPTION, _INPUT, _ANNOTATIONS, run, _OUTPUT, for_skills=True)


def _limit(arguments: Mapping[str, object]) -> int:
    limit = arguments.get("limit", DEFAULT_LIMIT)
    if isinstance(limit, float) and limit.is_integer():  # JSON has only one type of number
        limit = int(limit)
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise BadParamsError(f"the limit must be a number from 1 to {MAX_LIMIT}")
    return limit


def as_json(found: SearchResults) -> dict[str, Json]:
    """Return results as the tool, the command and the pages send them."""
    result: dict[str, Json] = {
        "results": [result_json(each) for each in found.results],
        "total": found.total,
        "weak": found.weak,
    }
    if found.corrections:
        result["corrections"] = dict(found.corrections)
    if found.incomplete:
        result["incomplete"] = True
    if found.next_cursor is not None:
        result["nextCursor"] = found.next_cursor
    if found.fallback:
        result["fallback"] = found.fallback
    return result


def result_json(result: SearchResult) -> dict[str, Json]:
    return {
        "name": result.name,
        "uri": result.uri,
        "description": result.description,
        "rank": result.rank,
        "fields": list(result.fields),
        "snippet": result.snippet,
    }
