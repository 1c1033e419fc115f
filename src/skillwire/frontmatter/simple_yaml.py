"""Read simple frontmatter much faster than a YAML parser does.

Simple frontmatter has plain ASCII fields, each on one line or folded over several lines, with at most one
level of nested fields. Every YAML parser reads such fields alike. The full parser reads all other
frontmatter.
"""

import re
from functools import lru_cache
from sys import intern

from skillwire.core.record import Json
from skillwire.frontmatter.values import Fields, NotFiniteError, may_be_ambiguous, parse_core_scalar

# A plain scalar starts with a letter or a digit. A colon followed by a space would end it, and a `#` may
# begin a comment. The quantifiers are possessive, because no two alternatives match the same text and
# backtracking is useless.
_WORDS = r"[A-Za-z0-9](?:[!-\"$-9;-~ ]++|:(?=[!-~]))*+"
_FIELD = re.compile(
    rf"""
    (?P<indent>(?:[ ][ ])?) (?P<key>[A-Za-z][A-Za-z0-9_-]{{0,63}}) :
    (?: [ ] (?: (?P<plain>{_WORDS}) | "(?P<double>[ !\#-\[\]-~]*)" | '(?P<single>[ !-&(-~]*)' ) )?
    """,
    re.VERBOSE,
)
_CONTINUED = re.compile(rf"[ ]+(?P<words>{_WORDS})")
_MAX_LINE_LENGTH = 4096


def read_simple_yaml(text: str) -> Fields | None:
    """Return what the YAML parser would return for `text`, or None if the full parser is needed."""
    if not text.isascii() or not text.endswith("\n"):
        return None
    reader = _Reader()
    for number, line in enumerate(text.split("\n")[1:-1], start=2):
        if len(line) > _MAX_LINE_LENGTH or line.endswith(" ") or not reader.take(line, number):
            return None
    return reader.fields()


@lru_cache(maxsize=1024)
def _is_text(key: str) -> bool:
    """Return whether every parser reads a key as text, unlike `yes` or `null`.

    Cached, because most skills use the same few keys.
    """
    return isinstance(parse_core_scalar(key), str) and not may_be_ambiguous(key)


class _Reader:
    """Reads simple frontmatter line by line."""

    def __init__(self) -> None:
        self._values: dict[str, Json] = {}
        self._lines: dict[str, int] = {}
        self._below: dict[str, Json] | None = None
        """The mapping whose indented fields are being read, if any."""
        self._target: dict[str, Json] = self._values
        self._key = ""
        self._words = ""
        """The plain scalar that the next line may continue."""
        self._indent = 0
        self._empty = False
        """Whether the last field has no value yet."""

    def take(self, line: str, number: int) -> bool:
        """Read a line. Return False if the full parser is needed."""
        field = _FIELD.fullmatch(line)
        if field is None:
            return self._continue(line)
        indent, key, plain, double, single = field.groups()
        if not self._end() or not self._enter(indent) or key in self._target:
            return False
        if not _is_text(key):
            return False
        self._key = key = intern(key)  # most skills use the same few keys
        self._indent = len(indent)
        if not indent:
            self._lines[key] = number
        quoted = double if double is not None else single
        self._words = plain or ""
        self._empty = plain is None and quoted is None
        self._target[key] = quoted
        return True

    def fields(self) -> Fields | None:
        """Return the fields, or None if the full parser is needed."""
        return Fields(self._values, self._lines) if self._values and self._end() else None

    def _continue(self, line: str) -> bool:
        more = _CONTINUED.fullmatch(line)
        if more is None or not self._words or line.index(more["words"]) <= self._indent:
            return False
        self._words = f"{self._words} {more['words']}"
        return True

    def _enter(self, indent: str) -> bool:
        """Select the mapping for a field with this indent. Return False if the full parser is needed."""
        if not indent:
            if self._empty:  # a field without a value is left to the full parser
                return False
            self._target, self._below = self._values, None
            return True
        if self._empty and self._target is self._values:
            self._below = {}
            self._values[self._key] = self._below
            self._target = self._below
            return True
        return not self._empty and self._below is not None

    def _end(self) -> bool:
        """Set the value of the last field. Return False if the full parser is needed."""
        if not self._words:
            return not (self._empty and self._target is not self._values)
        if may_be_ambiguous(self._words):  # the full parser reports the ambiguity
            return False
        try:
            self._target[self._key] = parse_core_scalar(self._words)
        except NotFiniteError:
            return False
        self._words = ""
        return True
