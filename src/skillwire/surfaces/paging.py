"""Pages of a list that may change between two requests, without an item skipped or doubled (S11)."""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillwire.model.entry import Json
from skillwire.model.errors import BadCursorError
from skillwire.wire.messages import PAGE_SIZE

_SEPARATOR = "\0"


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
    start = 0 if cursor is None else _behind(cursor, of, position)
    stop = start + size
    shown = keys[start:stop]
    return Page(shown, _cursor(of, shown[-1]) if stop < len(keys) else None)


def continues(cursor: object, of: str) -> bool:
    """Whether `cursor` was given out by the list `of`, here or in a server before this one."""
    if not isinstance(cursor, str):
        return False
    try:
        return base64.urlsafe_b64decode(cursor.encode("ascii")).startswith(f"{of}{_SEPARATOR}".encode())
    except (UnicodeError, binascii.Error):
        return False


def _behind(cursor: str, of: str, position: Callable[[str], int | None]) -> int:
    try:
        name, _, last = base64.urlsafe_b64decode(cursor.encode("ascii")).decode().partition(_SEPARATOR)
    except (UnicodeError, binascii.Error) as error:
        raise BadCursorError(cursor) from error
    found = position(last) if name == of else None
    # The check against our own spelling refuses what base64 decodes all the same.
    if found is None or _cursor(of, last) != cursor:
        raise BadCursorError(cursor)
    return found + 1


def _cursor(of: str, last: str) -> str:
    return base64.urlsafe_b64encode(f"{of}{_SEPARATOR}{last}".encode()).decode("ascii")
