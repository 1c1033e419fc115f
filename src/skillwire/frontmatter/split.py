"""Find the frontmatter and the body in a `SKILL.md`."""

import re
from dataclasses import dataclass

from skillwire.core.problem import Problem, Rule, Severity

MAX_FRONTMATTER = 64 * 1024
"""Maximum number of bytes between the two fences."""
OPENING = "---\n"
"""The first line of every frontmatter text, however the file writes the opening fence."""
_FENCE = rb"---[ \t]*(?:\r?\n|\Z)"
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?" + _FENCE)
# The search starts at the line break of the opening fence, so that an empty frontmatter needs no special
# case. Because the pattern begins with the literal `\n---`, the search skips bytes instead of testing each.
_CLOSING = re.compile(rb"\n" + _FENCE)
_EXACT_FENCES = (b"---\n", b"---\r\n")
_LATE_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?\s+" + _FENCE)
# UTF-16 and UTF-32, with a byte order mark or with the two bytes that a dash becomes.
_WIDE_ENCODING_STARTS = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff", b"-\x00", b"\x00-", b"\x00\x00\x00-")
_SAVE_AS_UTF8 = "save the file as UTF-8"


class UnreadableError(Exception):
    """The frontmatter cannot be read. `read_document` returns this error as a `Problem`."""

    def __init__(self, rule: Rule, message: str, *, hint: str, line: int | None = None) -> None:
        self.rule, self.message, self.hint, self.line = rule, message, hint, line
        super().__init__(message)

    def problem(self, path: str) -> Problem:
        """Convert the error to a problem with the file at `path`."""
        return Problem(path, self.rule, Severity.ERROR, self.message, hint=self.hint, line=self.line)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The frontmatter of a file as text, and its offsets in the file."""

    text: str
    """A YAML document that starts with the opening fence, so that its line numbers match the file.

    The text includes the line break before the closing fence. Without it, a block scalar would lose its last
    `\\n`.
    """
    start: int
    """Byte offset of the line below the opening fence."""
    end: int
    """Byte offset of the closing fence."""
    body: int
    """Byte offset of the body."""


def split(content: bytes) -> Frontmatter:
    """Return the frontmatter of a `SKILL.md`, or raise `UnreadableError`. Takes linear time for any bytes."""
    if content.startswith(_WIDE_ENCODING_STARTS):
        raise UnreadableError(
            Rule.FRONTMATTER_ENCODING, "the file is UTF-16 or UTF-32, not UTF-8", hint=_SAVE_AS_UTF8, line=1
        )
    opening = _OPENING.match(content)
    if opening is None:
        raise _missing_error(content)
    start = opening.end()
    closing = _CLOSING.search(content, max(start - 1, 0))
    if closing is None:
        raise UnreadableError(
            Rule.FRONTMATTER_UNCLOSED,
            "the frontmatter that starts on line 1 never ends",
            hint="end it with a line that contains only `---`, without indentation",
            line=1,
        )
    end = closing.start() + 1
    if end - start > MAX_FRONTMATTER:
        raise UnreadableError(
            Rule.FRONTMATTER_SIZE,
            f"the frontmatter has {end - start} bytes, the limit is {MAX_FRONTMATTER}",
            hint="move long text below the closing `---`, or into a file beside `SKILL.md`",
            line=1,
        )
    return Frontmatter(OPENING + _decode(content, start, end), start, end, closing.end())


def find_loose_fence(content: bytes, frontmatter: Frontmatter) -> int | None:
    """Return the line of a fence followed by spaces or tabs, or None if there is none.

    Some clients do not recognize such a fence.
    """
    opening, closing = content[: frontmatter.start], content[frontmatter.end : frontmatter.body]
    if opening.endswith(_EXACT_FENCES) and closing.rstrip(b"\r\n") == b"---":
        return None
    return line_of(content, frontmatter.end) if opening.endswith(_EXACT_FENCES) else 1


def line_of(content: bytes, offset: int) -> int:
    """Return the line, counted from 1, of the byte at `offset`."""
    return content.count(b"\n", 0, offset) + 1


def _decode(content: bytes, start: int, end: int) -> str:
    try:
        return content[start:end].decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UnreadableError(
            Rule.FRONTMATTER_ENCODING,
            f"the byte 0x{content[start + error.start]:02x} is not UTF-8",
            hint=_SAVE_AS_UTF8,
            line=line_of(content, start + error.start),
        ) from None


def _missing_error(content: bytes) -> UnreadableError:
    late = _LATE_OPENING.match(content)
    hint = (
        "remove everything before the first `---`"
        if late
        else "start the file with a line `---`, then `name: …` and `description: …`, then another line `---`"
    )
    return UnreadableError(
        Rule.FRONTMATTER_MISSING, "the first line is not `---`, so there is no frontmatter", hint=hint, line=1
    )


def body_offset(content: bytes) -> int:
    """Return the byte offset of the body, or 0 if the frontmatter is missing or unreadable."""
    try:
        return split(content).body
    except UnreadableError:
        return 0
