"""The Skills extension: `skills/list` and `skills/get`."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast

from skillwire.core.record import Json, SkillRecord
from skillwire.errors import BadParamsError
from skillwire.features.base import Answer, Call, Feature, Method, Page, page_from
from skillwire.library.catalog import Catalog
from skillwire.library.library import Library
from skillwire.library.search import DEFAULT_LIMIT
from skillwire.protocol.messages import EXTENSION, QUERY_META, SEARCH_EXTENSION, SKILLS_GET, SKILLS_LIST
from skillwire.protocol.translate import skill_entry
from skillwire.sources.base import Validator


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

    def methods(self) -> Mapping[str, Method]:
        return {SKILLS_LIST: self.list, SKILLS_GET: self.get}

    def extensions(self) -> Mapping[str, Mapping[str, Json]]:
        return {EXTENSION: {}, **({SEARCH_EXTENSION: {}} if self._with_search else {})}

    def validator(self, method: str, call: Call) -> Validator | None:
        if method == SKILLS_GET:
            return self._library.validator_of_skill(call.params.get("uri"))
        return (
            None if self._query(call) is not None else self._library.validator_for(partial(self._parts, call))
        )

    async def list(self, call: Call) -> Answer:
        if (query := self._query(call)) is not None:
            return await self._search(query, call.cursor())
        return self._list_now(call)

    def answer_now(self, method: str, call: Call) -> Answer | None:
        if method == SKILLS_LIST:
            return self._list_now(call) if self._library.is_loaded and self._query(call) is None else None
        if method != SKILLS_GET or not self._library.has_fresh(uri := call.params.get("uri")):
            return None
        return Answer({"skill": skill_entry(self._library.catalog.entries[str(uri)])})

    def _list_now(self, call: Call) -> Answer:
        catalog = self._library.catalog
        shown = self._page(catalog, call.cursor())
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
        entries = (catalog.entries.get(each.uri) for each in found.results)
        result: dict[str, Json] = {
            "skills": [skill_entry(each) for each in entries if each and self._is_listed(each)],
            "_meta": {QUERY_META: {"total": found.total, "weak": found.weak}},
        }
        return Answer(result if found.next_cursor is None else {**result, "nextCursor": found.next_cursor})

    def _page(self, catalog: Catalog, cursor: str | None) -> Page:
        """Return a page of the listed skills. A cursor stays valid when its skill is no longer listed."""

        def listed_from(start: int) -> Iterator[str]:
            return (entry.uri for entry in catalog.entries.records_from(start) if self._is_listed(entry))

        return page_from(listed_from, catalog.entries.position, of=SKILLS_LIST, cursor=cursor)

    def _parts(self, call: Call) -> tuple[object, ...]:
        """Return what a page is made from: the skills in it, and whether it is the last one."""
        catalog = self._library.catalog
        try:
            shown = self._page(catalog, call.cursor())
        except BadParamsError:
            return ()
        return *(catalog.entries[uri] for uri in shown.keys), shown.next_cursor is None

    def _is_listed(self, entry: SkillRecord) -> bool:
        return entry.listed and (self._list_nonconforming or not entry.nonconformities)
