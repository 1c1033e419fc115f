"""Asking surfaces without a transport."""

from collections.abc import Iterable
from typing import cast

from skillwire.catalog.library import Library
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.errors import BadParamsError, NotServedError
from skillwire.surfaces.base import Call, Surface, all_methods
from skillwire.wire.messages import PROMPTS_GET, RESOURCES_LIST, RESOURCES_READ
from skillwire.wire.shapes import Contents, ListedResource, PromptMessage


class InProcess:
    """Answers as a client would get them. Where no surface answers, there is nothing of the kind."""

    def __init__(self, library: Library, surfaces: Iterable[Surface]) -> None:
        self._library = library
        self._methods = all_methods(surfaces)

    async def resources(self) -> list[ListedResource]:
        """Return every page of `resources/list`."""
        listed: list[ListedResource] = []
        result = await self._ask(RESOURCES_LIST)
        while result is not None:
            listed += cast("list[ListedResource]", result["resources"])
            cursor = result.get("nextCursor")
            result = None if cursor is None else await self._ask(RESOURCES_LIST, cursor=cursor)
        return listed

    async def contents(self, uri: str) -> list[Contents]:
        """Return what `resources/read` does. Raises `NotServedError`."""
        if (result := await self._ask(RESOURCES_READ, uri=uri)) is None:
            raise NotServedError(uri)
        return cast("list[Contents]", result["contents"])

    async def messages(self, name: str) -> list[PromptMessage]:
        """Return those of `prompts/get`. Raises `BadParamsError`."""
        if (result := await self._ask(PROMPTS_GET, name=name)) is None:
            raise BadParamsError(f"there is no prompt {quoted(name)}")
        return cast("list[PromptMessage]", result["messages"])

    async def _ask(self, method: str, **params: object) -> dict[str, Json] | None:
        await self._library.ready()
        answer = self._methods.get(method)
        return None if answer is None else (await answer(Call(params))).result
