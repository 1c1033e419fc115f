"""`LiveSkill`: a skill whose text is generated whenever it is read."""

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
"""Default number of seconds in which a function must return the text."""
Text: TypeAlias = str | bytes | None
"""A `SKILL.md` with or without frontmatter, or None if no skill has these parameter values."""
Values: TypeAlias = Sequence[str] | Callable[[str], Sequence[str] | Awaitable[Sequence[str]]]
"""All values of a parameter, or a function that returns suggestions for the text typed so far."""


@dataclass(frozen=True, slots=True)
class SkillRequest:
    """A request to read a live skill."""

    uri: str
    """The URI that is read."""
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    """The values of the parameters in the path."""


Resolver: TypeAlias = Callable[[SkillRequest], Text | Awaitable[Text]] | Callable[[], Text | Awaitable[Text]]
"""A function that returns the text of a skill. It takes a `SkillRequest` or no argument.

A sync function runs in a thread.
"""


@dataclass(frozen=True, slots=True)
class LiveSkill:
    """A skill whose text a function generates whenever it is read.

    If the path has parameters, as in `docs/{product}/guide`, there is one skill for each combination of
    values. These skills can be read, but are not listed. Raises `InvalidValueError` if a field is invalid.
    """

    path: str
    resolver: Resolver = field(repr=False)
    description: str = field(kw_only=True)
    frontmatter: Mapping[str, Json] = field(default_factory=dict[str, Json], kw_only=True)
    """Frontmatter fields besides `name` and `description`."""
    values: Mapping[str, Values] = field(default_factory=dict[str, Values], kw_only=True)
    """A list of all values, or a function that suggests values, by parameter name."""
    timeout: float = field(default=DEFAULT_TIMEOUT, kw_only=True)
    """Number of seconds in which the function must return the text."""
    document: SkillDocument = field(init=False, repr=False, compare=False)
    """The parsed frontmatter, and its problems.

    If the path ends in a parameter, the parameter's name, with `-` for `_`, stands in for the skill's name.
    """

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
        except ValueError as error:  # a lone surrogate, or a number that is not finite
            raise InvalidValueError(
                "the frontmatter of", self.path, f"cannot be written as YAML: {error}", "fix it"
            ) from error
        document = read_document(written, where, name)
        if not document.is_servable:
            problem = document.problems[0]
            raise InvalidValueError("the skill", self.path, f"is invalid: {problem.message}", problem.hint)
        object.__setattr__(self, "document", document)

    def fields(self, name: str, description: str) -> dict[str, Json]:
        """Return the frontmatter for this name and description."""
        return {"name": name, "description": description, **self.frontmatter}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters in the path."""
        return parse_parameters(self.path)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def uri(self) -> str:
        """The URI of its `SKILL.md`. If the path has parameters, this URI cannot be read."""
        return file_uri(root_uri(self.path.split("/")), SKILL_FILE)

    def uris(self) -> Iterator[str]:
        """Yield the URI of the skill's only file."""
        yield self.uri


def description_of(function: Callable[..., object], path: str, description: str | None) -> str:
    """Return `description` or, if it is None, the first paragraph of the function's docstring.

    Raises `InvalidValueError` if there is neither.
    """
    if description is not None:
        return description
    paragraph = (inspect.getdoc(function) or "").partition("\n\n")[0]
    if not paragraph:
        fix = "say when to use it, with `description=…` or a docstring"
        raise InvalidValueError("the skill", path, "has no description", fix)
    return " ".join(paragraph.split())
