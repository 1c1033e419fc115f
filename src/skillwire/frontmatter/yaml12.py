"""Read YAML 1.2 values from PyYAML's event stream, with the line of every top-level field.

Features that parsers read differently, such as anchors, tags and duplicate keys, are refused (S7, H26). The
following are read, but reported in `Fields.ambiguities`: scalars that YAML 1.1 reads differently, a tab that
PyYAML's Python parser refuses, and some block scalars at the end.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from yaml import MarkedYAMLError, YAMLError, events

from skillwire.core.record import Json
from skillwire.frontmatter import refusals
from skillwire.frontmatter.layout import Layout, check_comments
from skillwire.frontmatter.pyyaml import parse, parse_in_python
from skillwire.frontmatter.refusals import check_characters, check_escapes, escape_error, translate_yaml_error
from skillwire.frontmatter.values import (
    Ambiguity,
    Fields,
    NotFiniteError,
    Scalar,
    find_ambiguity,
    parse_core_scalar,
)

MAX_DEPTH = 64
"""Maximum nesting depth of mappings and lists, including the outermost."""


def load(text: str) -> Fields:
    """Return the fields of `text`, or raise `UnreadableError`.

    `text` starts with the opening fence, so that its line numbers match the file. All line
    breaks are `\\n`.
    """
    check_characters(text)
    reader, layout = _Reader(), Layout(text)
    try:
        for event in parse(text):
            layout.handle_event(event)
            _HANDLERS[type(event)](reader, event)
    except YAMLError as error:
        raise translate_yaml_error(error, text) from None
    except (ValueError, OverflowError):
        # An escape beyond Unicode. libyaml reports an error, and PyYAML's Python parser crashes.
        raise escape_error(None) from None
    check_comments(text)
    if not isinstance(reader.root, dict):
        raise refusals.not_mapping(reader.root)
    ambiguities = (
        *reader.ambiguities,
        *_find_tab_ambiguities(text, reader),
        *_find_trailing_ambiguities(text, reader),
    )
    return Fields(reader.root, reader.lines, ambiguities)


def _find_tab_ambiguities(text: str, reader: "_Reader") -> Iterator[Ambiguity]:
    """Yield an ambiguity for the first tab outside of quotes that PyYAML's Python parser refuses.

    YAML allows the tab.
    """
    if "\t" not in text:
        return
    try:
        for _ in parse_in_python(text):
            pass
    except MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        earlier = [field for field, at in reader.lines.items() if at <= line]
        yield Ambiguity(
            earlier[-1] if earlier else "",
            line,
            "a tab outside of quotes is an error for some parsers: clients with PyYAML refuse the skill",
            "write a space instead of the tab, or put the whole value in quotes",
        )


def _find_trailing_ambiguities(text: str, reader: "_Reader") -> Iterator[Ambiguity]:
    """Yield an ambiguity if the frontmatter ends with a block scalar that clients read differently.

    Some clients drop the line break before the closing fence, which changes the scalar's value.
    """
    block = next((each for each in reader.last if each.style in {"|", ">"}), None)
    if block is not None and _scalars(text.removesuffix("\n")) != _scalars(text):
        yield Ambiguity(
            reader.last_field,
            refusals.line_of(block),
            "the frontmatter ends with a block of text; clients that cut its last line break refuse it",
            f"write `{block.style}-` instead of `{block.style}`, or put another field below it",
        )


def _scalars(text: str) -> list[str]:
    return [event.value for event in parse(text) if isinstance(event, events.ScalarEvent)]


@dataclass(slots=True)
class _Open:
    """A mapping or list that has not ended yet."""

    target: dict[str, Json] | list[Json]
    key: str | None = None
    """In a mapping, the key whose value comes next."""


class _Reader:
    """Builds the value from events. Open collections are on a stack, so nesting needs no recursion."""

    def __init__(self) -> None:
        self.root: Json = None
        self.lines: dict[str, int] = {}
        self.ambiguities: list[Ambiguity] = []
        self.last: deque[events.ScalarEvent] = deque(maxlen=2)
        """The last two scalars, or fewer after the start of a collection: a value, and maybe its key."""
        self.last_field = ""
        """The top-level field that began last."""
        self._open: list[_Open] = []
        self._documents = 0

    def document_start(self, event: events.DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            raise refusals.second_document(event)

    def document_end(self, event: events.DocumentEndEvent) -> None:
        if event.explicit:
            raise refusals.second_document(event)

    def scalar(self, event: events.ScalarEvent) -> None:
        if event.anchor is not None or event.tag is not None:
            raise refusals.properties(event)
        value = _value(event)
        self.last.append(event)
        if self._open and isinstance((top := self._open[-1]).target, dict) and top.key is None:
            self._start_field(top.target, value, event)
        else:
            self._add(value)
        if event.implicit[0] and (
            ambiguity := find_ambiguity(event.value, value, self.last_field, refusals.line_of(event))
        ):
            self.ambiguities.append(ambiguity)

    def mapping_start(self, event: events.MappingStartEvent) -> None:
        self._enter({}, event)

    def sequence_start(self, event: events.SequenceStartEvent) -> None:
        self._enter([], event)

    def collection_end(self, _event: events.CollectionEndEvent) -> None:
        self._open.pop()

    def alias(self, event: events.AliasEvent) -> None:
        raise refusals.alias(event)

    def ignore_event(self, _event: events.Event) -> None:
        pass

    def _enter(self, target: dict[str, Json] | list[Json], event: events.CollectionStartEvent) -> None:
        if event.anchor is not None or event.tag is not None:
            raise refusals.properties(event)
        if self._open and isinstance((top := self._open[-1]).target, dict) and top.key is None:
            raise refusals.collection_key(event)
        if len(self._open) == MAX_DEPTH:
            raise refusals.depth(event, MAX_DEPTH)
        self.last.clear()
        self._add(target)
        self._open.append(_Open(target))

    def _start_field(self, mapping: dict[str, Json], key: Scalar, event: events.ScalarEvent) -> None:
        if not isinstance(key, str):
            raise refusals.scalar_key(event)
        if key in mapping:
            raise refusals.duplicate_key(event)
        # Add the key before its value is known, so that a duplicate is found whatever the value is.
        mapping[key] = None
        self._open[-1].key = key
        if len(self._open) == 1:
            self.lines[key] = refusals.line_of(event)
            self.last_field = key

    def _add(self, value: Json) -> None:
        if not self._open:
            self.root = value
            return
        top = self._open[-1]
        if isinstance(top.target, list):
            top.target.append(value)
        else:
            top.target[cast("str", top.key)] = value
            top.key = None


_HANDLERS: dict[type[events.Event], Callable[[_Reader, Any], None]] = {
    events.StreamStartEvent: _Reader.ignore_event,
    events.StreamEndEvent: _Reader.ignore_event,
    events.DocumentStartEvent: _Reader.document_start,
    events.DocumentEndEvent: _Reader.document_end,
    events.ScalarEvent: _Reader.scalar,
    events.AliasEvent: _Reader.alias,
    events.MappingStartEvent: _Reader.mapping_start,
    events.MappingEndEvent: _Reader.collection_end,
    events.SequenceStartEvent: _Reader.sequence_start,
    events.SequenceEndEvent: _Reader.collection_end,
}


def _value(event: events.ScalarEvent) -> Scalar:
    plain, _ = event.implicit
    if not plain:
        check_escapes(event.value, refusals.line_of(event))
        return event.value
    try:
        return parse_core_scalar(event.value)
    except NotFiniteError:
        raise refusals.number(event) from None
