"""The base of all MCP features: methods, calls, responses and paging."""

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import TypeAlias, cast

from skillwire.core.record import Json
from skillwire.errors import BadParamsError, ConflictError
from skillwire.library.change import Change
from skillwire.protocol.bounds import check_text
from skillwire.protocol.messages import PAGE_SIZE, Freshness
from skillwire.protocol.uri_base import UriBase
from skillwire.safe_text import quoted
from skillwire.sources.base import Validator

_SEPARATOR = "\0"


def bad_cursor_error(cursor: str) -> BadParamsError:
    """Return the error for a cursor that does not belong to this list, or whose item no longer exists."""
    return BadParamsError(f"cursor {quoted(cursor)} does not continue this list; list again without a cursor")


@dataclass(frozen=True, slots=True)
class Call:
    """The parameters of one request, which are not validated, and facts about the client."""

    params: Mapping[str, object] = field(default_factory=dict[str, object])
    can_change: bool = False
    """Whether the caller may change the server: the stdio client, or an HTTP client that sent a credential.
    """
    supports_skills: bool = False
    """Whether the client declares the Skills extension, and so can load skills without a tool."""

    def text(self, name: str) -> str:
        """Return a required string parameter. Raises `BadParamsError` if it is not a string or too long.

        A server built by Skillwire checks the length earlier. A server with attached skills does not.
        """
        value = self.params.get(name)
        if not isinstance(value, str):
            raise BadParamsError(f"the parameter `{name}` must be a string")
        check_text(name, value)
        return value

    def part(self, name: str) -> "Call":
        """Return an object parameter as a `Call`. If it is missing or null, the `Call` has no parameters.

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
        """Return the cursor, or None for the start of the list.

        Raises `BadParamsError` if the cursor is not a string or too long.
        """
        return None if self.params.get("cursor") is None else self.text("cursor")


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to one request, and how it may be cached."""

    result: dict[str, Json]
    live: bool = False
    """Whether the response is generated for each request, so that a client must not cache it."""
    private: bool = False
    """Whether the response is for one client only, so that a cache must not send it to another client."""

    def freshness(self, usual: Freshness) -> Freshness:
        """Return how this response may be cached. `usual` is the server's default."""
        if not self.live and not self.private:
            return usual
        return Freshness(0 if self.live else usual.ttl_ms, self.private or usual.private)


class ListKind(StrEnum):
    """The lists that a client may cache. The server notifies the client when one changes."""

    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"


Method: TypeAlias = Callable[[Call], Awaitable[Answer]]


class Feature(ABC):
    """One part of an MCP server: methods, instructions, extension settings and changes to report.

    A feature is independent of the MCP SDK and of the transport.
    """

    name: str

    @abstractmethod
    def methods(self) -> Mapping[str, Method]:
        """Return the handler of each method that this feature answers."""

    @property
    def uri_base(self) -> UriBase | None:
        """The scheme and authority with which the feature's URIs begin; None for `skill://`."""
        return None

    def validator(self, method: str, call: Call) -> Validator | None:  # noqa: ARG002 - for overriding
        """Return a validator for the response to this request, or None if the response cannot be cached."""
        return None

    def answer_now(self, method: str, call: Call) -> Answer | None:  # noqa: ARG002 - for overriding
        """Answer a request without waiting, as its method would; None if only the method can answer.

        An error is None too, or a `SkillwireError`: the method reports it.
        """
        return None

    def instructions(self) -> str:
        """Return the text that this feature currently adds to the server's instructions."""
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
        """Return the URIs whose content a change has modified or removed."""
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
    """Return the page of `keys` after `cursor`. `position` returns the index of a key, or None if it is gone.

    Raises `BadParamsError` as `page_from` does.
    """
    return page_from(lambda start: keys[start : start + size + 1], position, of=of, cursor=cursor, size=size)


def page_from(
    keys_from: Callable[[int], Iterable[str]],
    position: Callable[[str], int | None],
    *,
    of: str,
    cursor: str | None,
    size: int = PAGE_SIZE,
) -> Page:
    """Return the page after `cursor`, of a list of which only this page is needed.

    `keys_from` returns the keys that are listed from an index on. `position` returns the index of a key, also
    of a key that is not listed, or None if it is gone.

    A cursor names the last key of the previous page, so paging continues there even if the list has changed.
    Raises `BadParamsError` if the cursor does not belong to the list `of`, or if its key is gone.
    """
    start = 0 if cursor is None else _start_after(cursor, of, position)
    found = list(islice(keys_from(start), size + 1))
    shown = found[:size]
    return Page(shown, _cursor(of, shown[-1]) if len(found) > size else None)


def is_cursor_of(cursor: object, of: str) -> bool:
    """Return whether `cursor` belongs to the list `of`. It may come from an earlier run of the server."""
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
    # Compare with the canonical encoding, because base64 also decodes other spellings.
    if found is None or _cursor(of, last) != cursor:
        raise bad_cursor_error(cursor)
    return found + 1


def _cursor(of: str, last: str) -> str:
    return base64.urlsafe_b64encode(f"{of}{_SEPARATOR}{last}".encode()).decode("ascii")
