"""Whether the body of a `SKILL.md` is text. Its bytes are served as they are, so this only ever warns."""

from codecs import utf_8_decode

from skillwire.model.problem import Problem, Rule, Severity
from skillwire.skillmd.frontmatter import line_of

_CHUNK = 64 * 1024


def check_body(content: bytes, start: int, path: str) -> Problem | None:
    """Return what keeps the body that begins at `start` from being text, or None."""
    if (nul := content.find(b"\x00", start)) >= 0:
        return _problem(
            content,
            nul,
            path,
            "the body holds a NUL byte",
            "remove it, or keep binary data in a file of its own",
        )
    # Nearly every body is ASCII, and that is seen without decoding or copying it.
    if content.isascii() or (wrong := _first_undecodable(content, start)) is None:
        return None
    return _problem(
        content,
        wrong,
        path,
        f"the byte 0x{content[wrong]:02x} in the body is not UTF-8",
        "save the file as UTF-8",
    )


def _first_undecodable(content: bytes, start: int) -> int | None:
    # In chunks, so that checking a body of many megabytes takes no memory to speak of.
    view = memoryview(content)
    while start < len(view):
        end = start + _CHUNK
        try:
            _, consumed = utf_8_decode(view[start:end], "strict", end >= len(view))
        except UnicodeDecodeError as error:
            return start + error.start
        start += consumed
    return None


def _problem(content: bytes, offset: int, path: str, message: str, hint: str) -> Problem:
    line = line_of(content, offset)
    return Problem(path, Rule.BODY_ENCODING, Severity.WARNING, message, hint=hint, line=line)
