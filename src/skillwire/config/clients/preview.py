"""Show how a client's file changes, without values that other servers may keep secret."""

import re
from collections.abc import Iterator, Sequence
from difflib import unified_diff

from skillwire.config.clients.edit import ClientDocument

_CONTEXT = 2
_KEY = re.compile(r"""(?P<key>\s*(?:"(?:\\.|[^"\\])*"|[\w.-]+)\s*[:=]\s*)(?P<value>.*)""", re.DOTALL)
_OPENING = frozenset({"", "{", "[", "{}", "[]", "|", ">"})
_HEADER = re.compile(r"\s*\[+[\w.\"'-]+\]+\s*")
_HIDDEN = "…"
_Span = tuple[int, int] | None


def preview(
    before: ClientDocument, after: ClientDocument, path: Sequence[str], *, all_old: bool
) -> list[str]:
    """Return a unified diff of two contents of a file.

    The entry at `path` is shown. With `all_old`, this includes the entry before the change. Around it, only
    keys are shown, because the values may be secret.
    """
    old = _lines(before.text, before.span(path) if all_old else None)
    new = _lines(after.text, after.span(path))
    first = _common(before.text, after.text)
    last = _common(before.text[first:][::-1], after.text[first:][::-1])
    start = before.text.count("\n", 0, first)
    old_end = len(old) - before.text.count("\n", len(before.text) - last)
    new_end = len(new) - after.text.count("\n", len(after.text) - last)
    start = max(0, start - _CONTEXT)
    old_shown = list(_masked(old[start : old_end + _CONTEXT])) if before.content else []
    new_shown = list(_masked(new[start : new_end + _CONTEXT])) if after.content else []
    name = str(before.file.path)
    changes = unified_diff(old_shown, new_shown, name, name, n=_CONTEXT, lineterm="")
    place = f"@@ line {start + 1} @@"
    return [place if each.startswith("@@") else each for each in changes]


def _lines(text: str, span: _Span) -> list[tuple[str, str | None]]:
    """Return each line, and what may be shown of it: the part in `span`, or None."""
    lines: list[tuple[str, str | None]] = []
    at = 0
    for line in text.removesuffix("\n").split("\n"):
        end = at + len(line)
        shown = None
        if span is not None and span[0] < end and at < span[1]:
            first, last = max(span[0], at) - at, min(span[1], end) - at
            cut = line[:first].strip(), line[last:].strip(" \t\r,")
            shown = f"{_HIDDEN if cut[0] else line[:first]}{line[first:last]}{_HIDDEN if cut[1] else ''}"
        lines.append((line.rstrip("\r"), shown))
        at = end + 1
    return lines


def _masked(lines: Sequence[tuple[str, str | None]]) -> Iterator[str]:
    for line, shown in lines:
        if shown is not None:
            yield shown.rstrip("\r")
        else:
            yield _mask(line)


def _mask(line: str) -> str:
    """Return a line without its value. Only its key and its punctuation stay."""
    bare = line.strip().rstrip(",")
    if not re.search(r"\w", bare) or _HEADER.fullmatch(line):
        return line
    if (found := _KEY.match(line)) is not None:
        value = found["value"].rstrip().rstrip(",")
        return line if value in _OPENING else f"{found['key']}{_HIDDEN}"
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}{_HIDDEN}"


def _common(one: str, other: str) -> int:
    """Return the length of the common start of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
