"""Unified diffs of untrusted text, for people: bounded in size, and with control characters visible."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice

from rich.text import Text

from skillwire.core.mime import is_text
from skillwire.safe_text import escape_invisible, quote_if_needed

_CONTEXT = 3
"""Unchanged lines around each change."""
_COMPARED_LINES = 1000
"""Maximum number of lines to match with each other. The time can grow with the square of this number."""
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def diff_lines(before: bytes | None, after: bytes | None, path: str) -> Iterator[str]:
    """Yield the lines of a unified diff. None means that there is no such file.

    Invisible characters are escaped, so each line is one line on a terminal. If the bytes differ, at least
    one line after the first two begins with `+` or `-`, or says that a file is binary.
    """
    shown = quote_if_needed(path)
    yield f"--- {'/dev/null' if before is None else f'approved/{shown}'}"
    yield f"+++ {'/dev/null' if after is None else f'now/{shown}'}"
    if any(each is not None and not is_text(each) for each in (before, after)):
        yield f"binary: {_size(before)} before, {_size(after)} now"
        return
    yield from _unified(_lines(before), _lines(after))


def _size(content: bytes | None) -> str:
    return "nothing" if content is None else f"{len(content):,} bytes"


def _lines(content: bytes | None) -> list[str]:
    """Return the lines of a text. A last line without a line break is marked."""
    if not content:
        return []
    lines = content.decode().split("\n")
    if lines[-1]:
        return [*lines[:-1], f"{lines[-1]}\0"]
    return lines[:-1]


def _unified(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yield the hunks of a diff, as `difflib.unified_diff` does, without its worst case."""
    head = _common(zip(old, new, strict=False))
    end = min(len(old), len(new)) - head
    tail = min(end, _common(zip(reversed(old), reversed(new), strict=False)))
    first, last = max(head - _CONTEXT, 0), max(tail - _CONTEXT, 0)
    left, right = old[first : len(old) - last], new[first : len(new) - last]
    if max(len(left), len(right)) > _COMPARED_LINES:
        groups = [[("replace", 0, len(left), 0, len(right))]]
    else:
        groups = SequenceMatcher(None, left, right).get_grouped_opcodes(_CONTEXT)
    for group in groups:
        begin, finish = group[0], group[-1]
        yield (
            f"@@ -{_range(first + begin[1], finish[2] - begin[1])}"
            f" +{_range(first + begin[3], finish[4] - begin[3])} @@"
        )
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from _marked(" ", left[i1:i2])
                continue
            yield from _marked("-", left[i1:i2])
            yield from _marked("+", right[j1:j2])


def _common(pairs: Iterator[tuple[str, str]]) -> int:
    """Return the number of equal pairs at the beginning."""
    number = 0
    for one, other in pairs:
        if one != other:
            break
        number += 1
    return number


def _range(start: int, length: int) -> str:
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + escape_invisible(line.removesuffix("\0"), keep="\t")
        if line.endswith("\0"):
            yield "\\ no line break at the end of the file"


def bounded_lines(lines: Iterator[str], max_lines: int, max_characters: int) -> Iterator[str]:
    """Yield lines within both limits, then a line that says how much is not shown.

    The line that does not fit is cut.
    """
    left = max_characters
    for line in islice(lines, max_lines):
        if len(line) > left:
            yield f"{line[:left]}…"
            break
        left -= len(line)
        yield line
    if more := sum(1 for _ in lines):
        yield f"… {more:,} more lines are not shown"


def styled(line: str) -> Text:
    """Return a line of a diff with its color."""
    return Text(line, style=_STYLES.get(line[:1], ""))
