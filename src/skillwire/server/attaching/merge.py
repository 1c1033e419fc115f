"""Merge the responses of an existing server with the responses for the attached skills."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeGuard, cast

from mcp.server.lowlevel.server import HandlerEntry
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from skillwire.errors import ConflictError
from skillwire.features.base import Call, Feature, Method, is_cursor_of
from skillwire.protocol.messages import (
    COMPLETE,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_TEMPLATES,
    TOOLS_CALL,
    TOOLS_LIST,
    Freshness,
)
from skillwire.server.attaching.taken import SKILL_TOOLS, TakenNames
from skillwire.server.build import Context, Handler, respond

_MAX_PAGES = 1000
"""Maximum number of pages of a list that are searched for the server's own names."""
LISTED_BY = {PROMPTS_GET: PROMPTS_LIST, TOOLS_CALL: TOOLS_LIST}
"""Methods that take a name, and the method that lists the names."""
_ITEM_METHODS = {listed: method for method, listed in LISTED_BY.items()}
ATTACH_ONCE_HINT = "attach all skills in one call, as in `attach(server, these, those)`"


@dataclass(frozen=True, slots=True)
class ListFormat:
    """The format of a list: the member with the items, and the member that identifies an item."""

    items: str
    key: str


LISTS = {
    RESOURCES_LIST: ListFormat("resources", "uri"),
    RESOURCES_TEMPLATES: ListFormat("resourceTemplates", "uriTemplate"),
    PROMPTS_LIST: ListFormat("prompts", "name"),
    TOOLS_LIST: ListFormat("tools", "name"),
}


@dataclass(frozen=True, slots=True)
class OriginalHandler:
    """The server's own handler for a method, which a handler for skills replaced."""

    entry: HandlerEntry[Any]

    async def __call__(self, context: Context, params: Mapping[str, Any]) -> Any:
        typed = self.entry.params_type.model_validate(dict(params), by_name=False)
        result = await self.entry.handler(replace(context, params=params), typed)
        if isinstance(result, BaseModel):
            return result.model_dump(by_alias=True, mode="json", exclude_none=True)
        return result


class Merger:
    """Combines the server's handlers with the handlers for skills. The server's own names take precedence."""

    def __init__(self, features: Iterable[Feature], freshness: Freshness, taken: TakenNames) -> None:
        """Prepare to merge `features`. `taken` records names that the server and the skills both use."""
        self._features = tuple(features)
        self._freshness = freshness
        self._taken = taken

    def handler(self, method: str, ours: Method, theirs: Mapping[str, OriginalHandler]) -> Handler:
        """Return the combined handler for `method`. `theirs` must contain the server's own handler for it.

        Raises `ConflictError` if the responses to this method cannot be combined.
        """
        if method in LISTS:
            return self._list(method, ours, theirs[method])
        if method in LISTED_BY:
            return self._named(method, ours, theirs)
        if method in {RESOURCES_READ, COMPLETE}:
            return self._one(method, ours, theirs[method])
        raise ConflictError(f"the server already answers `{method}`; remove its handler, or attach no skills")

    def _list(self, method: str, ours: Method, theirs: OriginalHandler) -> Handler:
        """Return a handler that lists the server's own pages, then the pages of the skills.

        The server's last page also contains the first page of the skills.
        """
        listing = LISTS[method]

        async def handle(context: Context, _params: object) -> Any:
            params = context.params or {}
            theirs_first = not is_cursor_of(params.get("cursor"), method)
            before: dict[str, Any] = {listing.items: []}
            if theirs_first:
                answer = await theirs(context, params)
                if not _is_page(answer, listing):
                    return answer
                before = answer
            if method == RESOURCES_LIST:  # only the skills' handler lists files of skills
                theirs_alone = (each for each in before[listing.items] if not self._claims_resource(each))
                before[listing.items] = list(theirs_alone)
            if before.get("nextCursor") is not None:
                return before
            call = Call({}) if theirs_first else None
            after = await respond(method, ours, self._freshness, context, call)
            left_out = set[str]()
            if method != RESOURCES_LIST:
                left_out = await self._left_out(method, theirs, context)
            added = [each for each in after[listing.items] if each[listing.key] not in left_out]
            return {
                **before,
                **after,
                **_merge_freshness(before, after),
                listing.items: before[listing.items] + added,
            }

        return handle

    def _named(self, method: str, ours: Method, theirs: Mapping[str, OriginalHandler]) -> Handler:
        """Return a handler that uses `ours`, unless the server itself lists the requested name."""
        list_method = LISTED_BY[method]
        listing, listed = LISTS[list_method], theirs.get(list_method)

        async def handle(context: Context, _params: object) -> Any:
            params = context.params or {}
            if self._is_claimed(method, Call(params)) and (
                listed is None
                or params.get(listing.key) not in await self._left_out(list_method, listed, context)
            ):
                return await respond(method, ours, self._freshness, context)
            return await theirs[method](context, params)

        return handle

    async def has_skill_tools(self, theirs: Mapping[str, OriginalHandler], context: Context) -> bool:
        """Return whether the tools that load skills belong to the attached skills.

        Records every conflicting name that the server itself lists.
        """
        left_out: set[str] = set()
        for method in _ITEM_METHODS:
            if method in theirs:
                with suppress(Exception):  # a client that requests the list receives the error
                    names = await self._left_out(method, theirs[method], context)
                    left_out |= names if method == TOOLS_LIST else set()
        return left_out.isdisjoint(SKILL_TOOLS)

    async def _left_out(self, method: str, theirs: OriginalHandler, context: Context) -> set[str]:
        """Return the names that the server lists, and that the skills therefore do not use.

        If the server lists one of `SKILL_TOOLS`, the result contains both.
        """
        names = await _names(theirs, LISTS[method], context)
        if (item_method := _ITEM_METHODS.get(method)) is None:
            return names
        taken = {name for name in names if self._is_claimed(item_method, Call({"name": name}))}
        return names | self._taken.note(method, taken)

    def _one(self, method: str, ours: Method, theirs: OriginalHandler) -> Handler:
        """Return a handler that uses `ours` for items that certainly belong to the skills.

        For all other items, it uses `theirs`. If `theirs` raises `MCPError` and the skills serve the URI, it
        uses `ours`. A URI that only a template of the skills matches is not certain, because it may be the
        server's own.
        """

        async def handle(context: Context, _params: object) -> Any:
            params = context.params or {}
            if self._is_claimed(method, Call(params)) and not self._is_of_their_prompt(method, params):
                return await respond(method, ours, self._freshness, context)
            try:
                return await theirs(context, params)
            except MCPError:
                if not self._serves(params):
                    raise
                return await respond(method, ours, self._freshness, context)

        return handle

    def _is_of_their_prompt(self, method: str, params: Mapping[str, Any]) -> bool:
        """Return whether a completion is requested for a prompt whose name is the server's own."""
        reference = params.get("ref")
        return (
            method == COMPLETE
            and isinstance(reference, Mapping)
            and self._taken.has(PROMPTS_LIST, cast("Mapping[str, Any]", reference).get("name"))
        )

    def claims(self, method: str, params: Mapping[str, Any]) -> bool:
        """Return whether a request certainly belongs to the skills, so that `theirs` does not see it."""
        return self._is_claimed(method, Call(params))

    def _is_claimed(self, method: str, call: Call) -> bool:
        return any(feature.claims(method, call) for feature in self._features)

    def _claims_resource(self, resource: Mapping[str, Any]) -> bool:
        return self._is_claimed(RESOURCES_READ, Call({"uri": resource.get("uri")}))

    def _serves(self, resource: Mapping[str, Any]) -> bool:
        return any(feature.serves(str(resource.get("uri"))) for feature in self._features)


async def _names(theirs: OriginalHandler, listing: ListFormat, context: Context) -> set[str]:
    """Return the names in one of the server's lists. Stops at an invalid page and at a repeated cursor."""
    names: set[str] = set()
    cursors: set[str] = set()
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        result = await theirs(context, {} if cursor is None else {"cursor": cursor})
        if not _is_page(result, listing):
            break
        names |= {str(each.get(listing.key)) for each in result[listing.items]}
        cursor = result.get("nextCursor")
        if cursor is None or cursor in cursors:
            break
        cursors.add(cursor)
    return names


def _is_page(result: Any, listing: ListFormat) -> TypeGuard[dict[str, Any]]:
    """Return whether a result is a page of the list."""
    return isinstance(result, dict) and listing.items in result


def _merge_freshness(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the caching fields of a merged response: for each field, the stricter value."""
    merged: dict[str, Any] = {}
    if "ttlMs" in after and "ttlMs" in before:
        merged["ttlMs"] = min(before["ttlMs"], after["ttlMs"])
    if "private" in (before.get("cacheScope"), after.get("cacheScope")):
        merged["cacheScope"] = "private"
    return merged
