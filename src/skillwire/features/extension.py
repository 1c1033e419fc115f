"""The Skills extension: `skills/list` and `skills/get`."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from skillwire.core.record import Json
from skillwire.errors import BadParamsError
from skillwire.features.base import Answer, Call, Feature, Method, page
from skillwire.library.catalog import Catalog, CatalogMemo
from skillwire.library.library import Library
from skillwire.library.search import DEFAULT_LIMIT
from skillwire.protocol.messages import EXTENSION, QUERY_META, SEARCH_EXTENSION, SKILLS_GET, SKILLS_LIST
from skillwire.protocol.translate import skill_entry
from skillwire.sources.base import Validator


@dataclass(frozen=True, slots=True)
class _Listing:
    """The listed skills, and their positions among all skills of the catalog."""

    keys: tuple[str, ...]
    places: tuple[int, ...]
    """Position of each listed skill among all skills."""
    every: Mapping[str, int]
    """Position of each skill by URI, including skills that are not listed."""

    def position(self, uri: str) -> int | None:
        """Return the index in `keys` of the last listed skill up to `uri`, or -1 if `uri` precedes them all.

        Return None if no skill has this URI. A cursor stays valid when its skill is no longer listed.
        """
        place = self.every.get(uri)
        return None if place is None else bisect_right(self.places, place) - 1


class ExtensionFeature(Feature):
    """Serves skills to hosts with the Skills extension. Also answers clients that do not declare it (S3).

    Strict clients reject the whole list if one entry does not conform to the specification. Therefore, the
    list omits nonconforming skills unless `list_nonconforming` is set. `skills/get` returns them too (S13).
    """

    name = "extension"

    def __init__(
        self, library: Library, *, list_nonconforming: bool = False, with_search: bool = False
    ) -> None:
        """Create the feature. With `with_search`, `skills/list` accepts a query in `_meta` (F9)."""
        self._library = library
        self._list_nonconforming = list_nonconforming
        self._with_search = with_search
        self._listing = CatalogMemo(self._listed)

    def methods(self) -> Mapping[str, Method]:
        return {SKILLS_LIST: self.list, SKILLS_GET: self.get}

    def extensions(self) -> Mapping[str, Mapping[str, Json]]:
        return {EXTENSION: {}, **({SEARCH_EXTENSION: {}} if self._with_search else {})}

    def validator(self, method: str, call: Call) -> Validator | None:
        if method == SKILLS_LIST:
            return None if self._query(call) is not None else self._library.validator()
        return self._library.validator() if self._library.has_fresh(call.params.get("uri")) else None

    async def list(self, call: Call) -> Answer:
        if (query := self._query(call)) is not None:
            return await self._search(query, call.cursor())
        return self._page(call)

    def answer_now(self, method: str, call: Call) -> Answer | None:
        if method == SKILLS_LIST:
            return self._page(call) if self._library.is_loaded and self._query(call) is None else None
        if method != SKILLS_GET or not self._library.has_fresh(uri := call.params.get("uri")):
            return None
        return Answer({"skill": skill_entry(self._library.catalog.entries[str(uri)])})

    def _page(self, call: Call) -> Answer:
        catalog = self._library.catalog
        listing = self._listing.of(catalog)
        shown = page(listing.keys, listing.position, of=SKILLS_LIST, cursor=call.cursor())
        return Answer(shown.result("skills", [skill_entry(catalog.entries[uri]) for uri in shown.keys]))

    async def get(self, call: Call) -> Answer:
        return Answer({"skill": skill_entry(await self._library.skill(call.text("uri")))})

    def _query(self, call: Call) -> object:
        """Return the query in `_meta`, which is not validated; None if there is none."""
        meta = call.params.get("_meta") if self._with_search else None
        return cast("Mapping[str, object]", meta).get(QUERY_META) if isinstance(meta, Mapping) else None

    async def _search(self, query: object, cursor: str | None) -> Answer:
        """Return the listed skills that match a query, the best first. Raises `BadParamsError`."""
        fields: Mapping[str, object] = cast("Any", query) if isinstance(query, Mapping) else {}
        text, limit = fields.get("text"), fields.get("limit", DEFAULT_LIMIT)
        if not isinstance(text, str) or not isinstance(limit, int) or isinstance(limit, bool):
            raise BadParamsError(f"`{QUERY_META}` must be an object with a `text` and, optionally, a `limit`")
        found = await self._library.search(text, limit=limit, cursor=cursor)
        catalog = self._library.catalog
        left_out = frozenset[str]() if self._list_nonconforming else catalog.nonconforming.keys()
        uris = (each.uri for each in found.results if each.uri not in left_out)
        result: dict[str, Json] = {
            "skills": [skill_entry(catalog.entries[uri]) for uri in uris if uri in catalog.positions],
            "_meta": {QUERY_META: {"total": found.total, "weak": found.weak}},
        }
        return Answer(result if found.next_cursor is None else {**result, "nextCursor": found.next_cursor})

    def _listed(self, catalog: Catalog) -> _Listing:
        left_out = frozenset[str]() if self._list_nonconforming else catalog.nonconforming.keys()
        if not left_out:
            return _Listing(catalog.listing, tuple(range(len(catalog.listing))), catalog.positions)
        keys = tuple(uri for uri in catalog.listing if uri not in left_out)
        return _Listing(keys, tuple(catalog.positions[uri] for uri in keys), catalog.positions)
