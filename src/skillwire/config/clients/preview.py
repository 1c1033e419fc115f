"""Show how a client's file changes, without values that other servers may keep secret."""

import re
from collections.abc import Collection, Sequence
from difflib import unified_diff

from skillwire.config.clients.edit import ClientDocument
from skillwire.config.clients.render import flat_value

_CONTEXT = 2
_KEY = re.compile(r"""(?P<key>\s*(?:"(?:\\.|[^"\\])*"|[\w.-]+)\s*[:=]\s*)(?P<value>.*)""", re.DOTALL)
_HEADER = re.compile(r"\s*\[+[\w.\"'-]+\]+\s*")
_HIDDEN = "…"


def preview(
    before: ClientDocument,
    after: ClientDocument,
    path: Sequence[str],
    *,
    old_words: Collection[str] | None,
    new_words: Collection[str] | None = None,
) -> list[str]:
    """Return a unified diff of two contents of a file.

    Values may be secret. Outside the entry at `path`, only keys are shown. Inside it, these words are shown,
    or all values if they are None.
    """
    old = _lines(before, path, old_words)
    new = _lines(after, path, new_words)
    first = _common(before.text, after.text)
    last = _common(before.text[first:][::-1], after.text[first:][::-1])
    start = before.text.count("\n", 0, first)
    old_end = len(old) - before.text.count("\n", len(before.text) - last)
    new_end = len(new) - after.text.count("\n", len(after.text) - last)
    start = max(0, start - _CONTEXT)
    old_shown = old[start : old_end + _CONTEXT] if before.content else []
    new_shown = new[start : new_end + _CONTEXT] if after.content else []
    name = str(before.file.path)
    changes = unified_diff(old_shown, new_shown, name, name, n=_CONTEXT, lineterm="")
    place = f"@@ line {start + 1} @@"
    return [place if each.startswith("@@") else each for each in changes]


def _lines(document: ClientDocument, path: Sequence[str], words: Collection[str] | None) -> list[str]:
    """Return each line as it may be shown."""
    span = document.span(path) or (0, 0)
    shown: list[str] = []
    at = 0
    for line in document.text.removesuffix("\n").split("\n"):
        first, last = max(span[0] - at, 0), min(span[1] - at, len(line))
        at += len(line) + 1
        if first >= last:
            shown.append(_mask(line.rstrip("\r"), ()))
            continue
        inside = line[first:last].rstrip("\r")
        before = _HIDDEN if line[:first].strip() else line[:first]
        after = _HIDDEN if line[last:].strip(" \t\r,") else ""
        shown.append(f"{before}{inside if words is None else _mask(inside, words)}{after}")
    return shown


def _mask(line: str, words: Collection[str]) -> str:
    """Return a line without its value, unless the value consists of `words`. Its key stays."""
    found = _KEY.match(line)
    key, value = (found["key"], found["value"]) if found else ("", line)
    rest = value
    for word in sorted(words, key=len, reverse=True):
        rest = rest.replace(flat_value(word), "").replace(word, "") if word else rest
    if not re.search(r"\w", rest) or _HEADER.fullmatch(line):
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return f"{key or indent}{_HIDDEN}"


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
