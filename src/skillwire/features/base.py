"""Base of all MCP features: methods, calls, answers, and paging of lists."""

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
    """Return the error for a cursor that is not of this list, or whose item no longer exists."""
    return BadParamsError(f"cursor {quoted(cursor)} does not continue this list; list again without a cursor")


@dataclass(frozen=True, slots=True)
class Call:
    """The parameters of one request, not validated, and facts about the client."""

    params: Mapping[str, object] = field(default_factory=dict[str, object])
    can_change: bool = False
    """Whether the caller may change the server: the user's client on stdio, or one that sent a credential."""
    supports_skills: bool = False
    """Whether the client declares the Skills extension, and so can load skills without a tool."""

    def text(self, name: str) -> str:
        """Return a required string parameter. Raises `BadParamsError` if it is missing or too long.

        Our own servers check the length earlier. Existing servers with attached skills do not.
        """
        value = self.params.get(name)
        if not isinstance(value, str):
            raise BadParamsError(f"the parameter `{name}` must be a string")
        check_text(name, value)
        return value

    def part(self, name: str) -> "Call":
        """Return a parameter that is an object, as a `Call`; an empty one if it is absent.

        Raises `BadParamsError` if it is not an object.
        """
        value = self.params.get(name)
        if value is None:
            return Call(can_change=self.can_change, supports_skills=self.supports_skills)
        if not isinstance(value, Mapping):
            raise BadParamsError(f"the parameter `{name}` must be an object")
        return Call(cast("Mapping[str, object]", value), self.can_change, self.supports_skills)

    def reject_cursor(self) -> None:
        """Raise `BadParamsError` if there is a cursor. For lists with only one page."""
        if (cursor := self.cursor()) is not None:
            raise bad_cursor_error(cursor)

    def cursor(self) -> str | None:
        """Return the cursor, or None for the start of the list. Raises `BadParamsError`."""
        return None if self.params.get("cursor") is None else self.text("cursor")


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one request, and how it may be cached."""

    result: dict[str, Json]
    live: bool = False
    """Whether it is made for each request. A client must not cache it."""
    private: bool = False
    """Whether it is made for one client. A cache must not give it to another."""

    def freshness(self, usual: Freshness) -> Freshness:
        """Return how this answer may be cached, on a server whose answers usually have `usual` freshness."""
        if not self.live and not self.private:
            return usual
        return Freshness(0 if self.live else usual.ttl_ms, self.private or usual.private)


class ListKind(StrEnum):
    """The lists that a client may cache, and whose changes it is notified of."""

    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"


Method: TypeAlias = Callable[[Call], Awaitable[Answer]]


class Feature(ABC):
    """A group of MCP methods that serve a library. Independent of other features and of the SDK."""

    name: str

    @abstractmethod
    def methods(self) -> Mapping[str, Method]:
        """Return the handler of each method that this feature answers."""

    def validator(self, method: str, call: Call) -> Validator | None:  # noqa: ARG002 - for overriding
        """Return a validator for the answer to this request; None if the answer cannot be cached."""
        return None

    def instructions(self) -> str:
        """Return the current text for the instructions of the server."""
        return ""

    def extensions(self) -> Mapping[str, Mapping[str, Json]]:
        """Return the extension settings that this feature declares, by extension identifier."""
        return {}

    def lists(self) -> Collection[ListKind]:
        """Return the lists of this feature that can change while it is served."""
        return ()

    def lists_changed(self, change: Change) -> Iterable[ListKind]:  # noqa: ARG002 - for overriding
        """Return the lists that a change affects."""
        return ()

    def claims(self, method: str, call: Call) -> bool:  # noqa: ARG002 - for overriding
        """Return whether a request for a single item, such as a prompt by name, is for this feature."""
        return False

    def serves(self, uri: str) -> bool:  # noqa: ARG002 - for overriding
        """Return whether something can be read at this URI now."""
        return False

    def schemes(self) -> Collection[str]:
        """Return the schemes of all URIs that this feature serves, now or later."""
        return ()

    def updated_uris(self, change: Change) -> Collection[str]:  # noqa: ARG002 - for overriding
        """Return the URIs whose content changed or is gone."""
        return ()


def all_methods(features: Iterable[Feature]) -> dict[str, Method]:
    """Return the methods of all `features`. Raises `ConflictError` if two features answer the same method."""
    owners: dict[str, str] = {}
    methods: dict[str, Method] = {}
    for feature in features:
        for name, method in feature.methods().items():
            if name in owners:
                raise ConflictError(f"`{name}` is answered by both `{owners[name]}` and `{feature.name}`")
            owners[name], methods[name] = feature.name, method
    return methods


def all_extensions(features: Iterable[Feature]) -> dict[str, dict[str, Json]]:
    """Return the merged extension settings of all `features`."""
    declared: dict[str, dict[str, Json]] = {}
    for feature in features:
        for identifier, settings in feature.extensions().items():
            declared.setdefault(identifier, {}).update(settings)
    return declared


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list: its keys, and the cursor for the next page if there is one."""

    keys: Sequence[str]
    next_cursor: str | None

    def result(self, name: str, items: list[Json]) -> dict[str, Json]:
        """Return the page as a result, with `items` under `name`."""
        return {name: items} if self.next_cursor is None else {name: items, "nextCursor": self.next_cursor}


def page(
    keys: Sequence[str],
    position: Callable[[str], int | None],
    *,
    of: str,
    cursor: str | None,
    size: int = PAGE_SIZE,
) -> Page:
    """Return the page of `keys` after `cursor`. Raises `BadParamsError` for a cursor not of list `of`.

    A cursor names the last key of the page before. So the list continues there even if it has changed since.
    If that key no longer exists, the position is lost, and the cursor is an error.
    """
    start = 0 if cursor is None else _start_after(cursor, of, position)
    stop = start + size
    shown = keys[start:stop]
    return Page(shown, _cursor(of, shown[-1]) if stop < len(keys) else None)


def is_cursor_of(cursor: object, of: str) -> bool:
    """Return whether `cursor` is one of the list `of`, possibly from an earlier run of the server."""
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
    # Compare with our own encoding: base64 also decodes other spellings.
    if found is None or _cursor(of, last) != cursor:
        raise bad_cursor_error(cursor)
    return found + 1


def _cursor(of: str, last: str) -> str:
    return base64.urlsafe_b64encode(f"{of}{_SEPARATOR}{last}".encode()).decode("ascii")
