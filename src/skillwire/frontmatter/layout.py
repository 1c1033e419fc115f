"""Refuse layout and comments that libyaml accepts but other YAML parsers refuse or read differently."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from yaml import events, tokens

from skillwire.core.problem import Rule
from skillwire.frontmatter.pyyaml import scan
from skillwire.frontmatter.split import UnreadableError

# An escaped line break, then an empty line: npm `yaml` drops the empty line, libyaml keeps it.
_HIDDEN_BREAK = re.compile(r"(?<!\\)(?:\\\\)*\\\n[ \t]*\n")
_COMMENT = re.compile(" *#")
# libyaml starts a comment directly after these. After anything else, a `#` without a space is text.
_SUSPECT = re.compile(r"""(?<=[\[\]{},:?"'|>+\-0-9])#""")


class Mark(Protocol):
    """A position in the text, as both of PyYAML's parsers report it. All numbers count from 0."""

    index: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class _Open:
    """A mapping or list that has not ended yet."""

    indent: int
    """The values inside must be indented more than this column."""
    flow: Any = None
    """The mark of the outermost bracket, if the collection is inside brackets."""


class Layout:
    """Checks the events of one text.

    Raises `UnreadableError` if the layout is not valid YAML 1.2, or if YAML parsers read it differently.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._commented = "#" in text
        self._open = [_Open(-1)]

    def handle_event(self, event: events.Event) -> None:
        """Check the next event. Raises `UnreadableError` if the layout is refused."""
        if check := _CHECKS.get(type(event)):
            check(self, event)

    def scalar(self, event: Any) -> None:
        if self._open[-1].flow is not None:
            self._check_indicators(event)
        elif self._commented and event.value and not event.style:
            self._check_comments_above(event.start_mark)
        if event.style in {"|", ">"}:
            self._block_scalar(event)
        elif event.style and event.start_mark.line != event.end_mark.line:
            self._quoted_lines(event)

    def start(self, event: Any) -> None:
        parent = self._open[-1]
        if event.flow_style:
            self._open.append(_Open(parent.indent, parent.flow or event.start_mark))
        else:
            self._open.append(_Open(event.start_mark.column))

    def end(self, event: Any) -> None:
        closed = self._open.pop()
        if (
            closed.flow is not None
            and self._open[-1].flow is None
            and closed.flow.line != event.end_mark.line
        ):
            self._check_lines(closed.flow, event.end_mark, closed.indent, brackets=True)

    def _block_scalar(self, event: Any) -> None:
        start, value = event.start_mark, event.value
        if start.column <= self._open[-1].indent:
            raise _not_indented(start.line)
        # npm `yaml` drops a last line of spaces only; libyaml keeps the spaces beyond the indentation.
        if (last := value.rstrip("\n").rpartition("\n")[2]) and not last.strip(" "):
            raise _ambiguous(
                "the last line of this value contains only spaces",
                "remove the spaces below the value",
                start.line,
            )
        # After lines of spaces only, `#` begins a comment for libyaml and text for npm `yaml`.
        if not value.strip("\n") and _COMMENT.match(self._text, event.end_mark.index):
            raise _ambiguous(
                "a comment follows a value that is empty", 'write `""` for the empty value', start.line
            )

    def _quoted_lines(self, event: Any) -> None:
        start, end, parent = event.start_mark, event.end_mark, self._open[-1]
        if event.style == '"' and _HIDDEN_BREAK.search(self._text, start.index, end.index):
            raise _ambiguous(
                "an empty line follows a `\\` at the end of a line",
                "write `\\n` for each line break",
                start.line,
            )
        if parent.flow is None:
            self._check_lines(start, end, parent.indent)

    def _check_indicators(self, event: Any) -> None:
        """Raise if only libyaml treats a `?` as an indicator, or if a plain value is just `-`, `?` or `:`."""
        if self._text[event.start_mark.index - 1] == "?" or (
            not event.style and event.value in {"-", "?", ":"}
        ):
            raise _ambiguous(
                "a `?`, `-` or `:` is alone between brackets",
                "put the value in quotes",
                event.start_mark.line,
            )

    def _check_comments_above(self, start: Mark) -> None:
        """Raise if an unindented comment is between a field and its plain text.

        npm `yaml` would use the comment's column as the field's column, and read the text that follows as
        part of the value.
        """
        indent, line_start = self._open[-1].indent, start.index - start.column
        if start.column <= indent or not self._text[line_start : start.index].isspace():
            return
        while line_start > 0:
            end = line_start - 1
            line_start = self._text.rfind("\n", 0, end) + 1
            line = self._text[line_start:end]
            content = line.lstrip(" ")
            if content and content[0] != "#":
                return
            if content and len(line) - len(content) <= indent:
                raise _ambiguous(
                    "a comment is between a field and its value",
                    "move the comment above the field",
                    start.line,
                )

    def _check_lines(self, start: Mark, end: Mark, indent: int, *, brackets: bool = False) -> None:
        """Raise if a line between the marks is not indented more than `indent`.

        The first line, empty lines and a closing bracket directly below its field are not checked.
        """
        lines = self._text[start.index : end.index].split("\n")
        for number, line in enumerate(lines[1:], start.line + 1):
            content = line.lstrip(" ")
            if len(line) - len(content) > indent or not content:
                continue
            # The closing bracket may be directly below its field. YAML 1.2 forbids this layout, but people
            # write it and every implementation reads it.
            if brackets and number == end.line and len(content) == 1 and len(line) == indent + 1:
                continue
            raise _not_indented(number)


_CHECKS: dict[type[events.Event], Callable[[Layout, Any], None]] = {
    events.ScalarEvent: Layout.scalar,
    events.MappingStartEvent: Layout.start,
    events.SequenceStartEvent: Layout.start,
    events.MappingEndEvent: Layout.end,
    events.SequenceEndEvent: Layout.end,
}


def _not_indented(line: int) -> UnreadableError:
    return UnreadableError(
        Rule.FRONTMATTER_YAML,
        "a value continues here, but the line is not indented more than the field",
        hint="put two more spaces before the line",
        line=line + 1,
    )


def _ambiguous(what: str, hint: str, line: int) -> UnreadableError:
    return UnreadableError(
        Rule.FRONTMATTER_YAML, f"{what}, which YAML parsers read differently", hint=hint, line=line + 1
    )


def check_comments(text: str) -> None:
    """Raise `UnreadableError` if a comment in `text` has no space before it. `text` must be valid YAML."""
    if "#" not in text or not (suspects := [found.start() for found in _SUSPECT.finditer(text)]):
        return
    # Such a `#` is rare, so a second pass that finds the values costs little.
    values = _values(text)
    start = end = 0
    for suspect in suspects:
        while end <= suspect:
            start, end = next(values)
        if suspect < start:
            raise UnreadableError(
                Rule.FRONTMATTER_YAML,
                "a `#` with no space before it is a comment for some YAML parsers and an error for others",
                hint="put a space before the `#`, or quotes around the whole value",
                line=text.count("\n", 0, suspect) + 1,
            )


def _values(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each scalar's text. The last range is after the end of the text."""
    for token in scan(text):
        if isinstance(token, tokens.ScalarToken):
            start, end = token.start_mark.index, token.end_mark.index
            # The first line of a block scalar is its header, which may end in a comment.
            yield (text.find("\n", start) if token.style in {"|", ">"} else start), end
    yield len(text), len(text) + 1
