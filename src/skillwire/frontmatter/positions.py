"""Find the position of each frontmatter value in its text, for line numbers and edits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from yaml import events

from skillwire.frontmatter.pyyaml import parse

FieldPath: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead to a value: `("metadata", "owner")`, `("tags", 2)`."""


class NodeStyle(StrEnum):
    """How a value is written."""

    SCALAR = "scalar"
    FLOW = "flow"
    """A mapping or list between brackets."""
    BLOCK = "block"
    """A mapping or list of indented lines. It ends where the next value begins."""


@dataclass(frozen=True, slots=True)
class Position:
    """The position of one value in the text. Indexes and columns count from 0, lines from 1."""

    line: int
    """The line of the value's key. In a list, the line of the value itself."""
    column: int
    """The column of the value's key. In a list, the column of the value itself."""
    start: int
    end: int
    shape: NodeStyle


def find_positions(text: str) -> dict[FieldPath, Position]:
    """Return the position of every value in `text` by field path. `text` must be valid frontmatter."""
    reader = _Reader()
    for event in parse(text):
        if (handle := _HANDLERS.get(type(event))) is not None:
            handle(reader, event)
    return reader.places


def format_field_path(field_path: FieldPath) -> str:
    """Format a path as shown in problems: `metadata.owner`, `tags[2]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in field_path)
    return "".join(parts).removeprefix(".")


@dataclass(slots=True)
class _Open:
    """A mapping or list that has not ended yet."""

    field_path: FieldPath
    key: Any
    """The event of the collection's key. If the collection has no key, its own first event."""
    start: int
    shape: NodeStyle
    listing: bool
    position: int = 0
    pending: Any = None
    """In a mapping, the event of the key whose value comes next."""


@dataclass(slots=True)
class _Reader:
    places: dict[FieldPath, Position] = field(default_factory=dict[FieldPath, Position])
    _open: list[_Open] = field(default_factory=list[_Open])

    def scalar(self, event: Any) -> None:
        top = self._open[-1] if self._open else None
        if top is not None and not top.listing and top.pending is None:
            top.pending = event
            return
        field_path, key = self._next(event)
        mark = key.start_mark
        start, end = event.start_mark.index, event.end_mark.index
        self.places[field_path] = Position(mark.line + 1, mark.column, start, end, NodeStyle.SCALAR)

    def start(self, event: Any) -> None:
        field_path, key = self._next(event)
        listing = isinstance(event, events.SequenceStartEvent)
        shape = NodeStyle.FLOW if event.flow_style else NodeStyle.BLOCK
        self._open.append(_Open(field_path, key, event.start_mark.index, shape, listing))

    def end(self, event: Any) -> None:
        closed = self._open.pop()
        mark = closed.key.start_mark
        self.places[closed.field_path] = Position(
            mark.line + 1, mark.column, closed.start, event.end_mark.index, closed.shape
        )

    def _next(self, event: Any) -> tuple[FieldPath, Any]:
        """Return the path of the value that `event` begins, and the event of its key, else `event` itself."""
        if not self._open:
            return (), event
        top = self._open[-1]
        if top.listing:
            top.position += 1
            return (*top.field_path, top.position - 1), event
        key, top.pending = top.pending, None
        return (*top.field_path, key.value), key


_HANDLERS: dict[type[events.Event], Callable[[_Reader, Any], None]] = {
    events.ScalarEvent: _Reader.scalar,
    events.MappingStartEvent: _Reader.start,
    events.SequenceStartEvent: _Reader.start,
    events.MappingEndEvent: _Reader.end,
    events.SequenceEndEvent: _Reader.end,
}
