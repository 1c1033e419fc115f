"""Many skills behind one pattern: one for each way to fill in its parameters."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias
from urllib.parse import quote, unquote

from skillwire.core.mime import MARKDOWN
from skillwire.core.names import SCHEME, SKILL_FILE, is_skill_name, name_fault, root_uri
from skillwire.core.record import Json, LiveFile, Origin, SkillRecord, Trust
from skillwire.errors import InvalidValueError

_PARAMETER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_SUFFIX = f"/{SKILL_FILE}"
_SLASHES = SCHEME.count("/")
"""In the URI of a skill, besides one in front of or behind each segment of its path."""
PARAMETER_RULE = "a name such as `{product}`, in lowercase letters, digits and `_`, as a whole segment"
VALUE_RULE = "a text that can be one segment of a path, without braces"

Suggest: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""Returns the values that come to mind for what somebody has begun to type."""


def parse_parameter(segment: str) -> str | None:
    """Return the name of the parameter that a segment is, or None for one that stands for itself."""
    found = _PARAMETER.fullmatch(segment)
    return found[1] if found else None


def parse_parameters(path: str) -> tuple[str, ...]:
    """Return the names of the parameters in a path, in their order."""
    return tuple(name for part in path.split("/") if (name := parse_parameter(part)) is not None)


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
    uri: str = field(init=False, repr=False, compare=False)
    """The pattern of their URIs, in the spelling of RFC 6570."""
    parameters: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _parts: tuple[tuple[str, str | None], ...] = field(init=False, repr=False, compare=False)
    """Each segment of the path, and the parameter that it is."""
    _known: Mapping[str, frozenset[str]] = field(init=False, repr=False, compare=False)
    """The same as `values`, to look a value up."""

    def __post_init__(self) -> None:
        parts = tuple((part, parse_parameter(part)) for part in self.path.split("/"))
        for segment, name in parts:
            if name is None and ("{" in segment or "}" in segment):
                raise InvalidValueError("parameter", segment, PARAMETER_RULE)
        for value in (each for known in self.values.values() for each in known):
            if value_fault(value) is not None:
                raise InvalidValueError("value", value, VALUE_RULE)
        made = {
            "uri": _build_pattern_uri(parts),
            "parameters": parse_parameters(self.path),
            "_parts": parts,
            "_known": {name: frozenset(known) for name, known in self.values.items()},
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values of the parameters in `uri`, or None if it is that of no such skill.

        A value has two spellings: ours, and that of RFC 6570, which encodes reserved characters, too. Any
        other would be one more URI of the same skill.
        """
        # The number of segments is compared first: it costs next to nothing, however long the URI is.
        if uri.count("/") != _SLASHES + len(self._parts) or not _is_skill(uri):
            return None
        given = uri[len(SCHEME) : -len(_SUFFIX)].split("/")
        if not self._has_same_names(given):
            return None
        segments = [unquote(segment) for segment in given]
        if (found := self._values(segments)) is None:
            return None
        ours = f"{root_uri(segments)}/{SKILL_FILE}"
        expanded = fill_parameters(self.uri, {name: quote(value, safe="") for name, value in found.items()})
        return found if uri in {ours, expanded} else None

    def match_path(self, path: str) -> dict[str, str] | None:
        """Return the values of the parameters in a path as people write it, or None if it is none."""
        return self._values(path.split("/")) if path.count("/") == len(self._parts) - 1 else None

    def entry(self, uri: str) -> SkillRecord | None:
        """Return the skill at `uri`, or None if that is the URI of no such skill."""
        values = self.match(uri)
        if values is None or not is_skill_name(name := uri.removesuffix(_SUFFIX).rpartition("/")[2]):
            return None
        location = fill_parameters(self.location, values)
        return SkillRecord(
            uri=uri,
            frontmatter={
                "name": name,
                "description": fill_parameters(self.description, values),
                **self.fields,
            },
            files=(LiveFile(SKILL_FILE, MARKDOWN),),
            directories=(),
            origin=Origin(self.label, location, f"{location}/{SKILL_FILE}"),
            trust=Trust.OWN,
        )

    def below(self, prefix: str) -> Self:
        """Return the same skills, published one level down, under the segment `prefix`."""
        return replace(self, path=f"{prefix}/{self.path}")

    def _values(self, segments: list[str]) -> dict[str, str] | None:
        found: dict[str, str] = {}
        for (part, name), segment in zip(self._parts, segments, strict=True):
            if name is None:
                if segment != part:
                    return None
            elif not self._accepts(name, segment) or found.setdefault(name, segment) != segment:
                return None
        return found

    def _has_same_names(self, encoded: list[str]) -> bool:
        """Whether all segments that are no parameters are the same, before the others are decoded."""
        return all(
            name is not None or part == given or ("%" in given and unquote(given) == part)
            for (part, name), given in zip(self._parts, encoded, strict=True)
        )

    def _accepts(self, name: str, value: str) -> bool:
        known = self._known.get(name)
        return value_fault(value) is None if known is None else value in known


class TemplateIndex:
    """Finds the skill at a URI among templates, at a cost that does not grow with their number."""

    def __init__(self, templates: Iterable[SkillTemplate]) -> None:
        """Of several templates that fit a URI, the first is meant."""
        self._by_shape: dict[tuple[int, str | None], list[tuple[int, SkillTemplate]]] = {}
        for place, template in enumerate(templates):
            first = template.path.partition("/")[0]
            shape = template.path.count("/"), first if parse_parameter(first) is None else None
            self._by_shape.setdefault(shape, []).append((place, template))

    def entry(self, uri: str) -> SkillRecord | None:
        """Return the first skill at `uri`, or None if it is the URI of no such skill."""
        slashes = uri.count("/") - _SLASHES - 1
        if not self._by_shape or not _is_skill(uri):
            return None
        first = unquote(uri[len(SCHEME) :].partition("/")[0])
        fitting = (self._by_shape.get((slashes, each), ()) for each in (first, None))
        candidates = sorted((pair for pairs in fitting for pair in pairs), key=lambda pair: pair[0])
        return next((entry for _, each in candidates if (entry := each.entry(uri)) is not None), None)


def _is_skill(uri: str) -> bool:
    """Whether a URI has the form of that of a `SKILL.md`."""
    return uri.startswith(SCHEME) and uri.endswith(_SUFFIX)


def _build_pattern_uri(parts: Sequence[tuple[str, str | None]]) -> str:
    """Return the URI of a skill, with each parameter in braces."""
    encoded = root_uri(part if name is None else "_" for part, name in parts).removeprefix(SCHEME).split("/")
    spelled = (each if name is None else part for each, (part, name) in zip(encoded, parts, strict=True))
    return f"{SCHEME}{'/'.join(spelled)}{_SUFFIX}"


def fill_parameters(text: str, values: Mapping[str, str]) -> str:
    """Return `text` with every parameter in braces replaced by its value."""
    return _PARAMETER.sub(lambda found: values.get(found[1], found[0]), text)
