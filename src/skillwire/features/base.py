"""What every MCP feature is: the methods it answers, the calls it gets, and pages of long lists."""

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias, cast

from skillwire.core.record import Json
from skillwire.errors import BadParamsError, ConflictError
from skillwire.library.change import Change
from skillwire.protocol.bounds import check_text
from skillwire.protocol.messages import PAGE_SIZE, Freshness
from skillwire.safe_text import quoted
from skillwire.sources.base import Validator

_SEPARATOR = "\0"


def bad_cursor_error(cursor: str) -> BadParamsError:
    """Return the error for a cursor that a list never gave out, or whose item is gone."""
    return BadParamsError(f"cursor {quoted(cursor)} does not continue this list; list again without a cursor")


@dataclass(frozen=True, slots=True)
class Call:
    """The parameters of one request, not yet trusted to have any shape."""

    params: Mapping[str, object] = field(default_factory=dict[str, object])
    can_change: bool = False
    """Whether the caller may change the server: the user's client on stdio, or one that sent a credential."""
    supports_skills: bool = False
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
            return Call(can_change=self.can_change, supports_skills=self.supports_skills)
        if not isinstance(value, Mapping):
            raise BadParamsError(f"the parameter `{name}` must be an object")
        return Call(cast("Mapping[str, object]", value), self.can_change, self.supports_skills)

    def reject_cursor(self) -> None:
        """Refuse a cursor: this list has one page, and never gave one out. Raises `BadParamsError`."""
        if (cursor := self.cursor()) is not None:
            raise bad_cursor_error(cursor)

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


class Feature(ABC):
    """One way in to the catalogue. Knows no other feature, and no SDK."""

    name: str

    @abstractmethod
    def methods(self) -> Mapping[str, Method]:
        """Return the handler of each method that this feature answers."""

    def validator(self, method: str, call: Call) -> Validator | None:  # noqa: ARG002 - for those that can
        """Return what tells whether the answer to this request would still be the same, if anything can."""
        return None

    def instructions(self) -> str:
        """Return what a new client is told, right now."""
        return ""

    def extensions(self) -> Mapping[str, Mapping[str, Json]]:
        """Return the settings that this feature declares, by the extension's identifier."""
        return {}

    def lists(self) -> Collection[ListKind]:
        """Return the lists of this feature that can change while it is served."""
        return ()

    def lists_changed(self, change: Change) -> Iterable[ListKind]:  # noqa: ARG002 - for those that have some
        """Yield the lists that are not what they were."""
        return ()

    def claims(self, method: str, call: Call) -> bool:  # noqa: ARG002 - for those that answer some of many
        """Whether a request for one thing among others, such as a prompt by its name, is for this feature."""
        return False

    def serves(self, uri: str) -> bool:  # noqa: ARG002 - for those that serve some
        """Whether something can be read at this URI, now."""
        return False

    def schemes(self) -> Collection[str]:
        """Return the schemes of all URIs at which something can be read, now or later."""
        return ()

    def updated_uris(self, change: Change) -> Collection[str]:  # noqa: ARG002 - for those that serve some
        """Return the URIs at which something else can be read now, or nothing any more."""
        return ()


def all_methods(features: Iterable[Feature]) -> dict[str, Method]:
    """Return every method of `features`. Raises `ConflictError` if two answer the same one."""
    owners: dict[str, str] = {}
    methods: dict[str, Method] = {}
    for feature in features:
        for name, method in feature.methods().items():
            if name in owners:
                raise ConflictError(f"`{name}` is answered by both `{owners[name]}` and `{feature.name}`")
            owners[name], methods[name] = feature.name, method
    return methods


def all_extensions(features: Iterable[Feature]) -> dict[str, dict[str, Json]]:
    """Return what `features` declare together."""
    declared: dict[str, dict[str, Json]] = {}
    for feature in features:
        for identifier, settings in feature.extensions().items():
            declared.setdefault(identifier, {}).update(settings)
    return declared


@dataclass(frozen=True, slots=True)
class Page:
    """Some keys of a list, and the cursor that continues it, if there is more."""

    keys: Sequence[str]
    next_cursor: str | None

    def result(self, name: str, items: list[Json]) -> dict[str, Json]:
        """Return the page as a result, with what stands for its keys under `name`."""
        return {name: items} if self.next_cursor is None else {name: items, "nextCursor": self.next_cursor}


def page(
    keys: Sequence[str],
    position: Callable[[str], int | None],
    *,
    of: str,
    cursor: str | None,
    size: int = PAGE_SIZE,
) -> Page:
    """Return the page of `keys` behind `cursor`. `of` names the list: another list's cursor is refused.

    A cursor names the last key that was given out. So the list continues there even if it has changed
    since; a key that is gone gets an error, because nobody can say what stood behind it.
    """
    start = 0 if cursor is None else _start_after(cursor, of, position)
    stop = start + size
    shown = keys[start:stop]
    return Page(shown, _cursor(of, shown[-1]) if stop < len(keys) else None)


def is_cursor_of(cursor: object, of: str) -> bool:
    """Whether `cursor` was given out by the list `of`, here or in a server before this one."""
    if not isinstance(cursor, str):
        return False
    try:
        return base64.urlsafe_b64decode(cursor.encode("ascii")).startswith(f"{of}{_SEPARATOR}".encode())
    except (UnicodeError, binascii.Error):
        return False


def _start_after(cursor: str, of: str, position: Callable[[str], int | None]) -> int:
    try:
        name, _, last = base64.urlsafe_b64decode(cursor.encode("ascii")).decode().partition(_SEPARATOR)
    except (UnicodeError, binascii.Error) as error:
        raise bad_cursor_error(cursor) from error
    found = position(last) if name == of else None
    # The check against our own spelling refuses what base64 decodes all the same.
    if found is None or _cursor(of, last) != cursor:
        raise bad_cursor_error(cursor)
    return found + 1


def _cursor(of: str, last: str) -> str:
    return base64.urlsafe_b64encode(f"{of}{_SEPARATOR}{last}".encode()).decode("ascii")
