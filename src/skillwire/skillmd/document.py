"""The one way in: from the bytes of a `SKILL.md` to what can be served and what is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass

from skillwire.model.entry import Json
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.skillmd.body import check_body
from skillwire.skillmd.fields import Fields
from skillwire.skillmd.frontmatter import loose_fence, split
from skillwire.skillmd.plain import read_plain
from skillwire.skillmd.rules import check_doubts, check_fields
from skillwire.skillmd.unreadable import UnreadableError


@dataclass(frozen=True, slots=True)
class SkillDocument:
    """What a `SKILL.md` says about its skill, and everything that is wrong with it."""

    frontmatter: Mapping[str, Json] | None
    """Every field (S7); None where nothing can be read.

    It is JSON as it stands, ready for any encoder: text without lone surrogates, integers of 64 bits, finite
    floats, booleans, None, lists, and dicts with string keys.
    """
    problems: tuple[Problem, ...]

    @property
    def servable(self) -> bool:
        """Whether the skill can be published: it has a frontmatter, and no problem is an error."""
        return self.frontmatter is not None and all(p.severity is not Severity.ERROR for p in self.problems)


def read_document(content: bytes, path: str, folder: str | None) -> SkillDocument:
    """Read a `SKILL.md`. Nothing that `content` holds makes this raise.

    `path` is what problems call the file. `folder` is the name of the folder that holds it, or None where
    there is none that the skill's name could be compared with.
    """
    problems: list[Problem] = []
    try:
        frontmatter = split(content)
        if body := check_body(content, frontmatter.body, path):
            problems.append(body)
        if line := loose_fence(content, frontmatter):
            problems.append(_loose(path, line))
        fields = read_plain(frontmatter.text) or _parsed(frontmatter.text)
    except UnreadableError as error:
        return SkillDocument(None, (error.problem(path), *problems))
    return SkillDocument(
        fields.values, (*check_fields(fields, path, folder), *check_doubts(fields, path), *problems)
    )


def _loose(path: str, line: int) -> Problem:
    message = "there are spaces or tabs behind the `---`: some clients do not find the frontmatter"
    hint = "remove them"
    return Problem(path, Rule.YAML_AMBIGUOUS, Severity.WARNING, message, hint=hint, line=line)


def _parsed(text: str) -> Fields:
    from skillwire.skillmd.yaml12 import load  # noqa: PLC0415 - many folders never need the parser

    return load(text)
