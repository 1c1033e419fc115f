"""What every surface is: methods that it answers, and what it declares. To add one: a file beside this."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias, cast

from skillwire.catalog.change import Change
from skillwire.model.entry import Json
from skillwire.model.errors import BadCursorError, BadParamsError, ConflictError
from skillwire.sources.base import Seal
from skillwire.wire.bounds import check_text
from skillwire.wire.messages import Freshness


@dataclass(frozen=True, slots=True)
class Call:
    """The parameters of one request, not yet trusted to have any shape."""

    params: Mapping[str, object] = field(default_factory=dict[str, object])
    may_change: bool = False
    """Whether the caller may change the server: the user's client on stdio, or one that sent a credential."""
    knows_skills: bool = False
    """Whether the client declares the extension, and so can load skills without a tool."""

    def text(self, name: str) -> str:
        """Return a parameter that must be there, and not too long. Raises `BadParamsError`.

        Requests to our own servers are checked before they come here. Those to servers of others are not.
        """
        value = self.params.get(name)
        if not isinstance(value, str):
            raise BadParamsError(f"the parameter `{name}` must be a string")
        check_text(name, value)
        return value

    def part(self, name: str) -> "Call":
        """Return a parameter that is an object, to be asked in its turn; an absent one is empty.

        Raises `BadParamsError`.
        """
        value = self.params.get(name)
        if value is None:
            return Call(may_change=self.may_change, knows_skills=self.knows_skills)
        if not isinstance(value, Mapping):
            raise BadParamsError(f"the parameter `{name}` must be an object")
        return Call(cast("Mapping[str, object]", value), self.may_change, self.knows_skills)

    def no_cursor(self) -> None:
        """Refuse a cursor: this list has one page, and never gave one out. Raises `BadCursorError`."""
        if (cursor := self.cursor()) is not None:
            raise BadCursorError(cursor)

    def cursor(self) -> str | None:
        """Return where the list continues, or None for its beginning. Raises `BadParamsError`."""
        return None if self.params.get("cursor") is None else self.text("cursor")


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one request."""

    result: dict[str, Json]
    live: bool = False
    """Made for this request alone: a client that kept it would show something old."""
    private: bool = False
    """Made for this client alone: a cache must not give it to another."""

    def freshness(self, usual: Freshness) -> Freshness:
        """Return what a client may do with it on a server that says `usual` of its answers."""
        if not self.live and not self.private:
            return usual
        return Freshness(0 if self.live else usual.ttl_ms, self.private or usual.private)


class ListKind(StrEnum):
    """The lists that a client can keep, and must hear of when they change."""

    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"


Method: TypeAlias = Callable[[Call], Awaitable[Answer]]


class Surface(ABC):
    """One way in to the catalogue. Knows no other surface, and no SDK."""

    name: str

    @abstractmethod
    def methods(self) -> Mapping[str, Method]:
        """Return the handler of each method that this surface answers."""

    def seal(self, method: str, call: Call) -> Seal | None:  # noqa: ARG002 - for those that can
        """Return what tells whether the answer to this request would still be the same, if anything can."""
        return None

    def instructions(self) -> str:
        """Return what a new client is told, right now."""
        return ""

    def extensions(self) -> Mapping[str, Mapping[str, Json]]:
        """Return the settings that this surface declares, by the extension's identifier."""
        return {}

    def lists(self) -> Collection[ListKind]:
        """Return the lists of this surface that can change while it is served."""
        return ()

    def lists_changed(self, change: Change) -> Iterable[ListKind]:  # noqa: ARG002 - for those that have some
        """Yield the lists that are not what they were."""
        return ()

    def claims(self, method: str, call: Call) -> bool:  # noqa: ARG002 - for those that answer some of many
        """Whether a request for one thing among others, such as a prompt by its name, is for this surface."""
        return False

    def serves(self, uri: str) -> bool:  # noqa: ARG002 - for those that serve some
        """Whether something can be read at this URI, now."""
        return False

    def schemes(self) -> Collection[str]:
        """Return the schemes of all URIs at which something can be read, now or later."""
        return ()

    def updated(self, change: Change) -> Collection[str]:  # noqa: ARG002 - for those that serve some
        """Return the URIs at which something else can be read now, or nothing any more."""
        return ()


def all_methods(surfaces: Iterable[Surface]) -> dict[str, Method]:
    """Return every method of `surfaces`. Raises `ConflictError` if two answer the same one."""
    owners: dict[str, str] = {}
    methods: dict[str, Method] = {}
    for surface in surfaces:
        for name, method in surface.methods().items():
            if name in owners:
                raise ConflictError(f"`{name}` is answered by both `{owners[name]}` and `{surface.name}`")
            owners[name], methods[name] = surface.name, method
    return methods


def all_extensions(surfaces: Iterable[Surface]) -> dict[str, dict[str, Json]]:
    """Return what `surfaces` declare together."""
    declared: dict[str, dict[str, Json]] = {}
    for surface in surfaces:
        for identifier, settings in surface.extensions().items():
            declared.setdefault(identifier, {}).update(settings)
    return declared
