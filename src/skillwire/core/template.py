"""Templates: one pattern for many skills, one skill for each combination of parameter values."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias
from urllib.parse import quote, unquote

from skillwire.core.mime import MARKDOWN
from skillwire.core.names import SCHEME, SKILL_FILE, is_skill_name, name_fault, root_uri
from skillwire.core.record import Json, LiveFile, Origin, SkillRecord, Trust, Withheld
from skillwire.errors import InvalidValueError

# RFC 6570, 2.3. Other servers may use any such name. Authors' names must match `_OWN_PARAMETER`.
_VARIABLE = r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})"
_PARAMETER = re.compile(rf"\{{({_VARIABLE}(?:\.?{_VARIABLE})*)\}}")
_OWN_PARAMETER = re.compile(r"\{[a-z][a-z0-9_]*\}")
_SUFFIX = f"/{SKILL_FILE}"
_SLASHES = SCHEME.count("/")
"""Number of slashes in `skill://`. A skill's URI has one more slash for each segment of its path."""
PARAMETER_RULE = "a name such as `{product}`, in lowercase letters, digits and `_`, as a whole segment"
VALUE_RULE = "a text that can be one segment of a path, without braces"

Suggest: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
"""A function that returns suggested values for the text typed so far."""


def parse_parameter(segment: str) -> str | None:
    """Return the parameter's name if a segment is a parameter, or None if it is literal."""
    found = _PARAMETER.fullmatch(segment)
    return found[1] if found else None


def is_own_parameter(segment: str) -> bool:
    """Return whether a segment is a parameter in the form that `PARAMETER_RULE` requires of authors."""
    return _OWN_PARAMETER.fullmatch(segment) is not None


def parse_parameters(path: str) -> tuple[str, ...]:
    """Return the names of the parameters in a path, in order."""
    return tuple(name for part in path.split("/") if (name := parse_parameter(part)) is not None)


def value_fault(value: str) -> str | None:
    """Return why a parameter cannot have this value, or None if it can."""
    return "contains a brace" if "{" in value or "}" in value else name_fault(value)


@dataclass(frozen=True, slots=True)
class SkillTemplate:
    """A pattern for the URIs of skills that are not listed.

    A client that knows values for the parameters can build the URI of a skill.
    """

    path: str
    """The path of the skills, with a parameter for each varying segment: `docs/{product}/guide`."""
    description: str
    """The description of each skill. Parameters in it are replaced by their values."""
    label: str
    """The label of the source."""
    location: str
    """The template's path in its source, or its URI template on another server, without prefixes."""
    fields: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Further frontmatter fields of each skill."""
    values: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """All values of each parameter whose values are known. No other value is served."""
    suggest: Mapping[str, Suggest] = field(default_factory=dict[str, Suggest], compare=False)
    """Functions that suggest values, by parameter. A parameter may also have other values."""
    trust: Trust = Trust.OWN
    """The trust of each skill."""
    withheld: Withheld | None = None
    """Why the skills are withheld. Set if and only if `trust` is `WITHHELD`."""
    foreign: bool = False
    """Whether the skills come from another operator's server."""
    uri: str = field(init=False, repr=False, compare=False)
    """The URI template of the skills, as in RFC 6570."""
    parameters: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _parts: tuple[tuple[str, str | None], ...] = field(init=False, repr=False, compare=False)
    """Each segment of the path, and its parameter name if it is a parameter."""
    _known: Mapping[str, frozenset[str]] = field(init=False, repr=False, compare=False)
    """The values in `values` as sets, for fast lookup."""

    def __post_init__(self) -> None:
        parts = tuple((part, parse_parameter(part)) for part in self.path.split("/"))
        for segment, name in parts:
            if name is None and ("{" in segment or "}" in segment):
                raise InvalidValueError("parameter", segment, PARAMETER_RULE)
        for value in (each for known in self.values.values() for each in known):
            if value_fault(value) is not None:
                raise InvalidValueError("value", value, VALUE_RULE)
        computed = {
            "uri": _build_pattern_uri(parts),
            "parameters": parse_parameters(self.path),
            "_parts": parts,
            "_known": {name: frozenset(known) for name, known in self.values.items()},
        }
        for name, value in computed.items():
            object.__setattr__(self, name, value)

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the parameter values in `uri`, or None if `uri` does not match the template.

        Two encodings of the values are accepted: Skillwire's, and the one defined by RFC 6570, which also
        encodes reserved characters. All others are refused, so that a skill has at most two URIs.
        """
        # Compare the number of segments first, because this is cheap even for a long URI.
        if uri.count("/") != _SLASHES + len(self._parts) or not _is_skill(uri):
            return None
        encoded = uri[len(SCHEME) : -len(_SUFFIX)].split("/")
        if not self._has_same_names(encoded):
            return None
        segments = [unquote(segment) for segment in encoded]
        if (found := self._values(segments)) is None:
            return None
        ours = f"{root_uri(segments)}/{SKILL_FILE}"
        expanded = fill_parameters(self.uri, {name: quote(value, safe="") for name, value in found.items()})
        return found if uri in {ours, expanded} else None

    def match_path(self, path: str) -> dict[str, str] | None:
        """Return the parameter values in a decoded path, or None if the path does not match the template."""
        return self._values(path.split("/")) if path.count("/") == len(self._parts) - 1 else None

    def entry(self, uri: str) -> SkillRecord | None:
        """Return the record of the skill at `uri`.

        Return None if `uri` does not match the template, or does not end in a valid skill name.
        """
        values = self.match(uri)
        if values is None or not is_skill_name(name := uri.removesuffix(_SUFFIX).rpartition("/")[2]):
            return None
        is_uri = "://" in self.location
        encoded = {key: quote(value, safe="") for key, value in values.items()} if is_uri else values
        location = fill_parameters(self.location, encoded)
        return SkillRecord(
            uri=uri,
            frontmatter={
                "name": name,
                "description": fill_parameters(self.description, values),
                **self.fields,
            },
            files=(LiveFile(SKILL_FILE, MARKDOWN),),
            directories=(),
            origin=Origin(self.label, location, f"{location}/{SKILL_FILE}", foreign=self.foreign),
            trust=self.trust,
            withheld=self.withheld,
        )

    @property
    def is_withheld(self) -> bool:
        """Whether the template's skills are hidden from models and people, because they are not approved."""
        return self.trust is Trust.WITHHELD

    def expand(self, values: Mapping[str, str]) -> str:
        """Return the URI of the skill with these values.

        The values are not checked, and the skill may not exist.
        """
        parts = (part if name is None else values[name] for part, name in self._parts)
        return f"{root_uri(parts)}/{SKILL_FILE}"

    def below(self, prefix: str) -> Self:
        """Return a copy of the template with the segment `prefix` before its path."""
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
        """Return whether all literal segments match, without decoding the parameters."""
        return all(
            name is not None or part == given or ("%" in given and unquote(given) == part)
            for (part, name), given in zip(self._parts, encoded, strict=True)
        )

    def _accepts(self, name: str, value: str) -> bool:
        known = self._known.get(name)
        return value_fault(value) is None if known is None else value in known


class TemplateIndex:
    """Finds the skill at a URI among many templates.

    It compares only templates that have as many segments as the URI, and the same first segment or a
    parameter as their first segment.
    """

    def __init__(self, templates: Iterable[SkillTemplate]) -> None:
        """Index the templates. If several match a URI, the first one wins."""
        self._by_shape: dict[tuple[int, str | None], list[tuple[int, SkillTemplate]]] = {}
        for place, template in enumerate(templates):
            first = template.path.partition("/")[0]
            shape = template.path.count("/"), first if parse_parameter(first) is None else None
            self._by_shape.setdefault(shape, []).append((place, template))

    def find(self, uri: str) -> tuple[SkillTemplate, SkillRecord] | None:
        """Return the first template that matches `uri`, and its skill at `uri`; None if none matches."""
        slashes = uri.count("/") - _SLASHES - 1
        if not self._by_shape or not _is_skill(uri):
            return None
        first = unquote(uri[len(SCHEME) :].partition("/")[0])
        fitting = (self._by_shape.get((slashes, each), ()) for each in (first, None))
        candidates = sorted((pair for pairs in fitting for pair in pairs), key=lambda pair: pair[0])
        return next(((each, entry) for _, each in candidates if (entry := each.entry(uri)) is not None), None)


def _is_skill(uri: str) -> bool:
    """Return whether a URI has the form of a `SKILL.md` URI."""
    return uri.startswith(SCHEME) and uri.endswith(_SUFFIX)


def _build_pattern_uri(parts: Sequence[tuple[str, str | None]]) -> str:
    """Return the URI template with these segments: literal segments encoded, parameters in braces."""
    encoded = root_uri(part if name is None else "_" for part, name in parts).removeprefix(SCHEME).split("/")
    segments = (each if name is None else part for each, (part, name) in zip(encoded, parts, strict=True))
    return f"{SCHEME}{'/'.join(segments)}{_SUFFIX}"


def fill_parameters(text: str, values: Mapping[str, str]) -> str:
    """Return `text` with each `{parameter}` replaced by its value. A parameter without a value stays."""
    return _PARAMETER.sub(lambda found: values.get(found[1], found[0]), text)
