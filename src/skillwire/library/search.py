"""Searching a library: what a search returns, and the interface of an index."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

import anyio

from skillwire.core.record import SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.errors import ConflictError, SkillwireError

if TYPE_CHECKING:
    from skillwire.library.library import Library

_AREA = "skillwire.search"
DEFAULT_LIMIT = 10
_CLOSEST_SECONDS, _CLOSEST_CHARACTERS = 1.0, 200
"""The time, and the length of a text, in which the closest skills are searched for an error."""
MAX_LIMIT = 50
"""Maximum number of results in one answer."""


class Audience(StrEnum):
    """For whom skills are searched. A search finds only skills that the audience may start."""

    MODELS = "models"
    PEOPLE = "people"
    EVERYONE = "everyone"
    """The operator: all skills except those that are withheld."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One skill or template that matches a query."""

    name: str
    """The name by which the skill is loaded."""
    uri: str
    description: str
    rank: int
    """The position among all results, from 1."""
    fields: tuple[str, ...] = ()
    """Where words of the query are: `name`, `description`, `metadata`, `headings`, `text` or `files`."""
    snippet: str = ""
    """A line of the skill's text that contains the query's words. Empty if there is none."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """One page of the results of a query."""

    results: tuple[SearchResult, ...]
    total: int
    """The number of results on all pages. At most 200 results are returned."""
    weak: bool = False
    """Whether nothing fits well: even the first result contains only a small part of the query."""
    corrections: Mapping[str, str] = field(default_factory=dict[str, str])
    """The words that were not found, with the similar words that were searched for instead."""
    incomplete: bool = False
    """Whether the index is still being built, so that results may be missing."""
    next_cursor: str | None = None
    fallback: str = ""
    """Why skills were only found by words, although the operator has chosen to find them by meaning, too."""


class SearchIndex(ABC):
    """An index of the skills of one library, which follows the library's changes."""

    @abstractmethod
    async def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        audience: Audience = Audience.EVERYONE,
    ) -> SearchResults:
        """Return the skills that match, the best first. Raises `BadParamsError` for wrong arguments."""

    async def closest(self, text: str, audience: Audience) -> list[str]:
        """Return the names of the three skills that fit best, for an error. Empty if that takes too long."""
        try:
            with anyio.move_on_after(_CLOSEST_SECONDS):
                found = await self.search(text[:_CLOSEST_CHARACTERS], limit=3, audience=audience)
                return [each.name for each in found.results]
        except SkillwireError:  # the error is about something else
            pass
        return []

    @abstractmethod
    async def follow(self) -> None:
        """Keep the index up to date in the background, until cancelled."""


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """A skill or template in a list that is searched, with the name and texts of its result."""

    key: str
    """What identifies it in the list. Two servers may have skills with the same URI."""
    entry: SkillRecord | SkillTemplate
    name: str
    """The name by which the skill is loaded."""
    uri: str
    description: str
    for_models: bool = True
    for_people: bool = True
    read: Callable[[], Awaitable[bytes]] | None = None
    """Reads the `SKILL.md` of one of the user's own skills. May raise `SkillwireError` or `OSError`."""

    def allows(self, audience: Audience) -> bool:
        """Return whether the audience may start the skill."""
        if audience is Audience.EVERYONE:
            return True
        return self.for_models if audience is Audience.MODELS else self.for_people


class ListSearch(ABC):
    """An index in memory of a list of skills, which is given anew with each query."""

    @abstractmethod
    async def search(
        self,
        query: str,
        entries: Sequence[SearchEntry],
        *,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        audience: Audience = Audience.EVERYONE,
    ) -> SearchResults:
        """Return the skills that match, the best first. Equally good ones are in the order of the list.

        Only entries that differ from those of the last query are indexed again. Raises `BadParamsError` for
        wrong arguments.
        """


def open_index(library: "Library") -> SearchIndex:
    """Return a new index in memory for a library. Raises `ConflictError` if search is not installed."""
    return _import("skillwire.search.service").LibrarySearch(library)


def open_list_search() -> ListSearch:
    """Return a new, empty index of a list. Raises `ConflictError` if search is not installed."""
    return _import("skillwire.search.list_search").MemorySearch()


def is_installed() -> bool:
    """Return whether this installation has search."""
    return find_spec(_AREA) is not None


def _import(module: str) -> ModuleType:
    # Search is an area above this package. Like other areas, it may be missing.
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ConflictError("this installation of Skillwire has no search") from error
