"""Many skills behind one pattern: one for each way to fill in its parameters."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias
from urllib.parse import quote, unquote

from skillwire.model.entry import Entry, Json, LiveFile, Origin
from skillwire.model.errors import InvalidValueError
from skillwire.model.mime import MARKDOWN
from skillwire.model.name import is_skill_name
from skillwire.model.path import name_fault
from skillwire.model.uri import SCHEME, SKILL_FILE, root_uri

_PARAMETER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
PARAMETER_RULE = "a name such as `{product}`, in lowercase letters, digits and `_`, as a whole segment"
VALUE_RULE = "a text that can be one segment of a path, without braces"

Suggest: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the values that come to mind for what somebody has begun to type."""


def parameter_of(segment: str) -> str | None:
    """Return the name of the parameter that a segment is, or None for one that stands for itself."""
    found = _PARAMETER.fullmatch(segment)
    return found[1] if found else None


def parameters_of(path: str) -> tuple[str, ...]:
    """Return the names of the parameters in a path, in their order."""
    return tuple(name for part in path.split("/") if (name := parameter_of(part)) is not None)


def value_fault(value: str) -> str | None:
    """Return why no parameter can have this value, or None if one can."""
    return "holds a brace" if "{" in value or "}" in value else name_fault(value)


@dataclass(frozen=True, slots=True)
class SkillTemplate:
    """Skills that nobody lists: whoever knows the values of the parameters has their URIs."""

    path: str
    """Where they are published, with a parameter for each segment that varies: `docs/{product}/guide`."""
    description: str
    """Of each skill. A parameter in it is filled in, too."""
    label: str
    """That of the source."""
    location: str
    """The same path as the source knows it."""
    fields: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What else stands in the frontmatter of each."""
    values: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """The values that a parameter can have, where they are known. No other is served."""
    suggest: Mapping[str, Suggest] = field(default_factory=dict[str, Suggest], compare=False)
    """Who knows values of a parameter that can have others, too."""

    def __post_init__(self) -> None:
        for segment in self.path.split("/"):
            if parameter_of(segment) is None and ("{" in segment or "}" in segment):
                raise InvalidValueError("parameter", segment, PARAMETER_RULE)
        for value in (each for known in self.values.values() for each in known):
            if value_fault(value) is not None:
                raise InvalidValueError("value", value, VALUE_RULE)

    @property
    def parameters(self) -> tuple[str, ...]:
        return parameters_of(self.path)

    @property
    def uri(self) -> str:
        """The pattern of their URIs, in the spelling of RFC 6570."""
        plain = [part if parameter_of(part) is None else "" for part in self.path.split("/")]
        encoded = root_uri(part or "_" for part in plain).removeprefix(SCHEME).split("/")
        parts = (each if kept else part for each, kept, part in zip(encoded, plain, self._parts, strict=True))
        return f"{SCHEME}{'/'.join(parts)}/{SKILL_FILE}"

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values of the parameters in `uri`, or None if it is that of no such skill.

        A value has two spellings: ours, and that of RFC 6570, which encodes reserved characters, too. Any
        other would be one more URI of the same skill.
        """
        if not uri.startswith(SCHEME) or not uri.endswith(f"/{SKILL_FILE}"):
            return None
        given = uri.removeprefix(SCHEME).removesuffix(f"/{SKILL_FILE}").split("/")
        segments = [unquote(segment) for segment in given]
        if (found := self._values(segments)) is None:
            return None
        ours = f"{root_uri(segments)}/{SKILL_FILE}"
        expanded = filled(self.uri, {name: quote(value, safe="") for name, value in found.items()})
        return found if uri in {ours, expanded} else None

    def match_path(self, path: str) -> dict[str, str] | None:
        """Return the values of the parameters in a path as people write it, or None if it is none."""
        return self._values(path.split("/"))

    def entry(self, uri: str) -> Entry | None:
        """Return the skill at `uri`, or None if that is the URI of no such skill."""
        values = self.match(uri)
        name = uri.removesuffix(f"/{SKILL_FILE}").rpartition("/")[2]
        if values is None or not is_skill_name(name):
            return None
        location = filled(self.location, values)
        return Entry(
            uri=uri,
            frontmatter={"name": name, "description": filled(self.description, values), **self.fields},
            files=(LiveFile(SKILL_FILE, MARKDOWN),),
            directories=(),
            origin=Origin(self.label, location, f"{location}/{SKILL_FILE}"),
        )

    def below(self, prefix: str) -> Self:
        """Return the same skills, published one level down, under the segment `prefix`."""
        return replace(self, path=f"{prefix}/{self.path}")

    @property
    def _parts(self) -> list[str]:
        return self.path.split("/")

    def _values(self, segments: list[str]) -> dict[str, str] | None:
        if len(segments) != len(self._parts):
            return None
        found: dict[str, str] = {}
        for part, segment in zip(self._parts, segments, strict=True):
            name = parameter_of(part)
            if name is None:
                if segment != part:
                    return None
            elif not self._takes(name, segment) or found.setdefault(name, segment) != segment:
                return None
        return found

    def _takes(self, name: str, value: str) -> bool:
        known = self.values.get(name)
        return value_fault(value) is None if known is None else value in known


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return `text` with every parameter in braces replaced by its value."""
    return _PARAMETER.sub(lambda found: values.get(found[1], found[0]), text)
