"""Read a `SKILL.md`: its fields, and the problems in its frontmatter and its encoding."""

from codecs import utf_8_decode
from collections.abc import Mapping
from dataclasses import dataclass

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import Json
from skillwire.frontmatter.rules import check_ambiguities, check_fields
from skillwire.frontmatter.simple_yaml import read_simple_yaml
from skillwire.frontmatter.split import UnreadableError, find_loose_fence, line_of, split
from skillwire.frontmatter.values import Fields, share_texts

_CHUNK = 64 * 1024


def check_body(content: bytes, start: int, path: str) -> Problem | None:
    """Return a problem if the body that begins at `start` has a NUL byte or is not UTF-8, else None."""
    if (nul := content.find(b"\x00", start)) >= 0:
        return _problem(
            content,
            nul,
            path,
            "the body contains a NUL byte",
            "remove it, or put binary data in a separate file",
        )
    # Nearly every body is ASCII, and checking for ASCII needs no decoding or copying.
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
    # Check in chunks, so that a large body takes little memory.
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


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """The fields of a `SKILL.md`, and the problems in its frontmatter and its encoding."""

    frontmatter: Mapping[str, Json] | None
    """Every field (S7), or None if the frontmatter cannot be read.

    All values can be encoded as JSON: text without lone surrogates, 64-bit integers, finite floats, booleans,
    None, lists, and dicts with string keys.
    """
    problems: tuple[Problem, ...]

    @property
    def is_servable(self) -> bool:
        """Whether the skill can be published: it has frontmatter, and no problem is an error."""
        return self.frontmatter is not None and all(p.severity is not Severity.ERROR for p in self.problems)


def read_document(content: bytes, path: str, folder: str | None) -> SkillDocument:
    """Read a `SKILL.md`. Never raises, whatever the content is.

    `path` is the path of the file in problems. `folder` is the name of its folder, or None if the skill's
    name must not be compared with the folder's name.
    """
    problems: list[Problem] = []
    try:
        frontmatter = split(content)
        if body := check_body(content, frontmatter.body, path):
            problems.append(body)
        if line := find_loose_fence(content, frontmatter):
            problems.append(_loose_fence_problem(path, line))
        fields = read_simple_yaml(frontmatter.text) or _parse_yaml(frontmatter.text)
        share_texts(fields.values)
    except UnreadableError as error:
        return SkillDocument(None, (error.problem(path), *problems))
    return SkillDocument(
        fields.values, (*check_fields(fields, path, folder), *check_ambiguities(fields, path), *problems)
    )


def _loose_fence_problem(path: str, line: int) -> Problem:
    message = "there are spaces or tabs after the `---`, so some clients do not find the frontmatter"
    hint = "remove them"
    return Problem(path, Rule.YAML_AMBIGUOUS, Severity.WARNING, message, hint=hint, line=line)


def _parse_yaml(text: str) -> Fields:
    from skillwire.frontmatter.yaml12 import load  # noqa: PLC0415 - many skills do not need the full parser

    return load(text)
