"""`HostSearch`: searches all skills that a host lists, of servers and of the user's own sources."""

from collections.abc import Awaitable, Callable
from functools import partial

from skillwire.errors import VerificationError
from skillwire.host.hosted_skill import HostedSkill, is_for_models, unlisted_finding
from skillwire.host.hosted_template import HostedTemplate
from skillwire.host.places import Places
from skillwire.host.registry import Registry
from skillwire.library.search import (
    DEFAULT_LIMIT,
    Audience,
    ListSearch,
    SearchEntry,
    SearchResults,
    open_list_search,
)


class HostSearch:
    """The search index of a host. It contains the skills of the current registry, approved or not.

    Of a server's skill, only the entry is indexed: nothing is read from the server (H11).
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._index: ListSearch | None = None
        self._registry: Registry | None = None
        """The registry that `_entries` describes."""
        self._entries: list[SearchEntry] = []

    async def search(
        self,
        query: str,
        *,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        audience: Audience = Audience.EVERYONE,
    ) -> SearchResults:
        """Return the skills that match, the best first. Raises `BadParamsError` for wrong arguments."""
        if self._index is None:
            self._index = open_list_search()
        return await self._index.search(query, self._listed(), limit=limit, cursor=cursor, audience=audience)

    def _listed(self) -> list[SearchEntry]:
        registry = self._places.registry
        if self._registry is not registry:
            self._registry, self._entries = registry, search_entries(registry, self._read)
        return self._entries

    async def _read(self, skill: HostedSkill) -> bytes:
        """Return the `SKILL.md` of one of the user's own skills."""
        if (main := skill.main) is None:
            raise VerificationError(skill.origin, unlisted_finding(skill, skill.uri))
        return await self._places.content(skill, main, store=False)


def search_entries(
    registry: Registry, read: Callable[[HostedSkill], Awaitable[bytes]] | None = None
) -> list[SearchEntry]:
    """Return what is searched of the skills and templates in a registry, in its order.

    `read` returns the `SKILL.md` of one of the user's own skills. No file of a server's skill is read (H11).
    """
    templates = map(_template_entry, registry.templates)
    return [*(_skill_entry(each, read) for each in registry), *templates]


def _skill_entry(skill: HostedSkill, read: Callable[[HostedSkill], Awaitable[bytes]] | None) -> SearchEntry:
    return SearchEntry(
        _key(skill),
        skill.record,
        skill.handle,
        skill.uri,
        skill.description,
        is_for_models(skill),
        skill.frontmatter.get("user-invocable") is not False,
        partial(read, skill) if skill.local and read is not None else None,
    )


def _template_entry(template: HostedTemplate) -> SearchEntry:
    return SearchEntry(_key(template), template.template, template.handle, template.uri, template.description)


def _key(each: HostedSkill | HostedTemplate) -> str:
    """Return what identifies a skill or template: the label, and the URI there (H9)."""
    return f"{each.label}:{each.uri}"
