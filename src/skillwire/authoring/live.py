"""A skill whose text is made when somebody reads it."""

import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from skillwire.authoring.rules import (
    check_fields,
    check_function,
    check_live_path,
    check_timeout,
    check_values,
)
from skillwire.core.names import SKILL_FILE, file_uri, root_uri
from skillwire.core.record import Json
from skillwire.core.template import parse_parameter, parse_parameters
from skillwire.errors import InvalidValueError
from skillwire.frontmatter.document import SkillDocument, read_document
from skillwire.frontmatter.writer import write_frontmatter

DEFAULT_TIMEOUT = 30.0
"""Seconds that a function has to make the text."""
Text: TypeAlias = str | bytes | None
"""A whole `SKILL.md`, or one without its frontmatter; None if there is no such skill."""
Values: TypeAlias = Sequence[str] | Callable[[str], Sequence[str] | Awaitable[Sequence[str]]]
"""All values of a parameter; or a function from what somebody has typed to values that come to mind."""


@dataclass(frozen=True, slots=True)
class SkillRequest:
    """What a live skill is asked for: its URI, and the parameters in its path."""

    uri: str
    params: Mapping[str, str] = field(default_factory=dict[str, str])


Resolver: TypeAlias = Callable[[SkillRequest], Text | Awaitable[Text]] | Callable[[], Text | Awaitable[Text]]
"""Makes the text of a skill, from a request or from nothing. A plain function runs in a thread of its own."""


@dataclass(frozen=True, slots=True)
class LiveSkill:
    """A skill whose text is made by a function whenever it is read.

    With parameters in the path, as in `docs/{product}/guide`, it is a skill for each way to fill them in,
    and none of those is listed. Raises `InvalidValueError` for one that cannot be.
    """

    path: str
    resolver: Resolver = field(repr=False)
    description: str = field(kw_only=True)
    frontmatter: Mapping[str, Json] = field(default_factory=dict[str, Json], kw_only=True)
    """Further fields. Name and description stand elsewhere."""
    values: Mapping[str, Values] = field(default_factory=dict[str, Values], kw_only=True)
    timeout: float = field(default=DEFAULT_TIMEOUT, kw_only=True)
    document: SkillDocument = field(init=False, repr=False, compare=False)
    """What its frontmatter says. For one with parameters, as if each were its own name."""

    def __post_init__(self) -> None:
        check_live_path(self.path)
        check_function(self.path, self.resolver)
        check_values(self.path, self.values)
        check_timeout(self.timeout)
        check_fields(self.frontmatter)
        last = self.path.rpartition("/")[2]
        name = (parse_parameter(last) or last).replace("_", "-")
        where = f"{self.path}/{SKILL_FILE}"
        try:
            written = write_frontmatter(self.fields(name, self.description)).encode()
        except ValueError as error:  # half a character, or a number without end
            raise InvalidValueError(
                "the frontmatter of", self.path, f"is no YAML: {error}", "mend it"
            ) from error
        document = read_document(written, where, name)
        if not document.is_servable:
            problem = document.problems[0]
            raise InvalidValueError("the skill", self.path, f"cannot be: {problem.message}", problem.hint)
        object.__setattr__(self, "document", document)

    def fields(self, name: str, description: str) -> dict[str, Json]:
        """Return the frontmatter of a skill of this name."""
        return {"name": name, "description": description, **self.frontmatter}

    @property
    def parameters(self) -> tuple[str, ...]:
        return parse_parameters(self.path)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def uri(self) -> str:
        """The URI of its `SKILL.md`; for one with parameters, none that can be read."""
        return file_uri(root_uri(self.path.split("/")), SKILL_FILE)

    def uris(self) -> Iterator[str]:
        yield self.uri


def description_of(function: Callable[..., object], path: str, given: str | None) -> str:
    """Return what a function's skill is for: what was said, else the first paragraph of its docstring."""
    if given is not None:
        return given
    paragraph = (inspect.getdoc(function) or "").partition("\n\n")[0]
    if not paragraph:
        fix = "say when to use it: `description=…`, or a docstring"
        raise InvalidValueError("the skill", path, "has no description", fix)
    return " ".join(paragraph.split())
