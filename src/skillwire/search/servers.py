"""Search the skills of servers, together with those of a library. Importing this module loads the MCP SDK."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from skillwire.core.problem import Problem, Rule
from skillwire.core.record import SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.features.visible_skills import VisibleSkills
from skillwire.host.connections.target import Target
from skillwire.host.host import Host
from skillwire.host.search import search_entries
from skillwire.library.library import Library
from skillwire.library.search import Audience, SearchEntry, SearchResults
from skillwire.safe_text import escape_invisible
from skillwire.search.list_search import MemorySearch


@dataclass(frozen=True, slots=True)
class FoundOnServers:
    """The results of a search, and the problems with the servers that were searched."""

    results: SearchResults
    problems: Sequence[Problem]


async def search_servers(
    query: str, targets: Sequence[Target], library: Library | None, *, limit: int, audience: Audience
) -> FoundOnServers:
    """Search the skills that servers list and those of a library, in one ranking.

    Of the servers' skills, only the lists are searched: no file is read (H11). Raises `BadParamsError`.
    """
    own = [] if library is None else _library_entries(library)
    async with Host(targets, drafts=True) as host:
        registry = await host.discover()
    foreign = [replace(each, uri=escape_invisible(each.uri)) for each in search_entries(registry)]
    found = await MemorySearch().search(query, [*own, *foreign], limit=limit, audience=audience)
    return FoundOnServers(found, [each for each in registry.problems if each.rule is not Rule.NAME_SHARED])


def _library_entries(library: Library) -> list[SearchEntry]:
    """Return the skills and templates of a library that is loaded, in its order."""
    visible = VisibleSkills.of(library)
    catalog = visible.catalog
    places, last = catalog.positions, len(catalog.positions)
    every = sorted(
        (*catalog.entries.values(), *catalog.templates), key=lambda each: places.get(each.uri, last)
    )
    return [
        _library_entry(library, visible, each) for each in every if visible.allows(each, Audience.EVERYONE)
    ]


def _library_entry(
    library: Library, visible: VisibleSkills, each: SkillRecord | SkillTemplate
) -> SearchEntry:
    is_template = isinstance(each, SkillTemplate)
    return SearchEntry(
        f":{each.uri}",  # no server has an empty label
        each,
        visible.template_name(each) if is_template else visible.names.handle(each),
        each.uri,
        each.description if is_template else each.shown_description,
        visible.allows(each, Audience.MODELS),
        visible.allows(each, Audience.PEOPLE),
        None if is_template else partial(library.read_listed, each, each.files[0]),
    )
