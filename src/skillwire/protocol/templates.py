"""Parse the URI templates with which a server describes skills that it does not list.

A template is untrusted, like every entry. A host replaces the parameters of a template by values, and asks
the server for the skill at the resulting URI.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from skillwire.core.names import SKILL_FILE, is_skill_name
from skillwire.core.problem import Problem, Rule
from skillwire.core.template import parse_parameter
from skillwire.protocol.claims import MAX_URI, Dialect, is_object, is_uri_text
from skillwire.protocol.delivery import TEMPLATE_TYPE
from skillwire.protocol.findings import Findings, server_problem
from skillwire.protocol.messages import RESOURCES_TEMPLATES
from skillwire.safe_text import quoted, strip_invisible

MAX_TEMPLATES = 1000
"""Maximum number of templates from one server (H2)."""
_MAX_SEGMENTS = 64
_MAX_PARAMETERS = 16
_MAX_VALUE = 1024
_SHOWN_DESCRIPTION = 1024
"""Maximum number of characters of a description. This is the limit in the Agent Skills standard (H27)."""
_SUFFIX = f"/{SKILL_FILE}"
_HEAD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_REFUSED_IN_VALUES = frozenset("/\\{}")
_REFUSED_IN_LITERALS = frozenset("/\\{}?#")


@dataclass(frozen=True, slots=True)
class TemplateClaim:
    """A valid template: a URI that ends in `/SKILL.md`, in which some whole segments are parameters."""

    uri_template: str
    """The URI template as the server wrote it."""
    description: str = ""
    """The description: shortened, on one line, without invisible characters (H27)."""
    dialect: Dialect = Dialect.FINAL
    parts: tuple[tuple[str, str | None], ...] = field(init=False, repr=False, compare=False)
    """Each segment of the skill's path as written, and the parameter's name if the segment is a parameter."""
    _head: str = field(init=False, repr=False, compare=False)
    """The scheme, with `://`."""

    def __post_init__(self) -> None:
        head = _HEAD.match(self.uri_template)
        start = "" if head is None else head[0]
        segments = self.uri_template.removeprefix(start).removesuffix(_SUFFIX).split("/")
        object.__setattr__(self, "_head", start)
        object.__setattr__(self, "parts", tuple((part, parse_parameter(part)) for part in segments))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters, each once, in order."""
        return tuple(dict.fromkeys(name for _, name in self.parts if name is not None))

    @property
    def path(self) -> str:
        """The decoded path of the skills, with parameters in braces: `docs/{product}/guide`."""
        return "/".join(part if name is not None else unquote(part) for part, name in self.parts)

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the values for which `expand` returns exactly this URI, or None if there are none."""
        if len(uri) > MAX_URI or not uri.startswith(self._head) or not uri.endswith(_SUFFIX):
            return None
        segments = uri.removeprefix(self._head).removesuffix(_SUFFIX).split("/")
        values = self._values(segments, [unquote(segment) for segment in segments], decode=False)
        return values if values is not None and self.expand(values) == uri else None

    def match_path(self, path: str) -> dict[str, str] | None:
        """Return the parameter values in a decoded path, or None if the path does not match."""
        segments = path.split("/")
        return self._values(segments, segments, decode=True)

    def expand(self, values: Mapping[str, str]) -> str | None:
        """Return the URI with these values.

        Return None if a value is missing or invalid, if the last segment would not be a skill's name, or if
        the URI would be too long.
        """
        if any(name not in values or not is_template_value(values[name]) for name in self.parameters):
            return None
        *_, (last, name) = self.parts
        if not is_skill_name(last if name is None else values[name]):
            return None
        filled = (part if name is None else quote(values[name], safe="") for part, name in self.parts)
        uri = f"{self._head}{'/'.join(filled)}{_SUFFIX}"
        return uri if len(uri) <= MAX_URI else None

    def _values(
        self, segments: Sequence[str], decoded: Sequence[str], *, decode: bool
    ) -> dict[str, str] | None:
        """Return the parameter values in these segments, or None if the segments do not match.

        With `decode`, literal segments are decoded before they are compared.
        """
        if len(segments) != len(self.parts):
            return None
        values: dict[str, str] = {}
        for (part, name), segment, value in zip(self.parts, segments, decoded, strict=True):
            if name is None:
                if segment != (unquote(part) if decode else part):
                    return None
            elif values.setdefault(name, value) != value or not is_template_value(value):
                return None
        return values


def is_template_value(value: str) -> bool:
    """Return whether a parameter may have this value.

    The value must be printable, not too long, without braces, and a single path segment. It must not change
    if it is decoded once more: `50%` is accepted, `50%25` and `%2F` are not.
    """
    return (
        0 < len(value) <= _MAX_VALUE
        and value not in {".", ".."}
        and value.isprintable()
        and not _REFUSED_IN_VALUES & set(value)
        and unquote(value) == value
    )


@dataclass(slots=True)
class ListedTemplates:
    """The valid templates that a server lists, each once, and the problems with the other templates."""

    claims: dict[str, TemplateClaim] = field(default_factory=dict[str, TemplateClaim])
    """The valid templates by URI template, in list order."""
    findings: Findings = field(default_factory=Findings)

    @property
    def is_full(self) -> bool:
        return len(self.claims) >= MAX_TEMPLATES

    def take(self, entry: object, dialect: Dialect = Dialect.FINAL, key: str = "uriTemplate") -> None:
        """Add the template in a list entry, or a finding if it cannot be used.

        Templates of other resources, duplicates, and templates above the limit are ignored.
        """
        parsed = parse_template(entry, dialect, key)
        if isinstance(parsed, Problem):
            self.findings.add(parsed)
        elif parsed is not None and not self.is_full:
            self.claims.setdefault(parsed.uri_template, parsed)

    def fail(self, message: str) -> None:
        """Add a finding about the whole list."""
        self.findings.add(server_problem(RESOURCES_TEMPLATES, Rule.TEMPLATE, message))

    def merge(self, others: "ListedTemplates") -> None:
        """Add the templates of another list, up to the limit, and its findings."""
        for uri_template, claim in others.claims.items():
            if not self.is_full:
                self.claims.setdefault(uri_template, claim)
        self.findings.take(others.findings)


def is_index_template(entry: object) -> bool:
    """Return whether an entry in the index of an early draft is a template."""
    return is_object(entry) and entry.get("type") == TEMPLATE_TYPE


def parse_template(
    entry: object, dialect: Dialect = Dialect.FINAL, key: str = "uriTemplate"
) -> TemplateClaim | Problem | None:
    """Return the template in an entry, its problem, or None for a template of other resources.

    Never raises.
    """
    if not is_object(entry):
        return server_problem(RESOURCES_TEMPLATES, Rule.TEMPLATE, "an entry is not an object")
    pattern = entry.get(key)
    if not isinstance(pattern, str) or not pattern.endswith(_SUFFIX):
        return None
    if not is_uri_text(pattern):
        message = f"it has more than {MAX_URI:,} characters"
        return server_problem(pattern[:MAX_URI], Rule.TEMPLATE, message)
    description = entry.get("description")
    shown = strip_invisible(description, _SHOWN_DESCRIPTION) if isinstance(description, str) else ""
    claim = TemplateClaim(pattern, shown, dialect)
    fault = next(_faults(claim), None)
    return claim if fault is None else server_problem(pattern, Rule.TEMPLATE, f"it cannot be used: {fault}")


def _faults(claim: TemplateClaim) -> Iterator[str]:
    """Yield each reason why a template cannot be used."""
    head = _HEAD.match(claim.uri_template)
    if head is None:
        yield "it has no scheme with `://`"
    elif head[0].lower() == "file://":  # it would refer to files on this machine (H4)
        yield "it has the scheme `file:`, which no server may use"
    if len(claim.parts) > _MAX_SEGMENTS or len(claim.parameters) > _MAX_PARAMETERS:
        yield f"it has more than {_MAX_SEGMENTS} segments or {_MAX_PARAMETERS} parameters"
    for part, name in claim.parts:
        if name is None and (fault := _literal_fault(part)) is not None:
            yield f"the segment {quoted(part)} {fault}"
    if not claim.parameters:
        yield "it has no parameter"
    last, name = claim.parts[-1]
    if name is None and not is_skill_name(last):
        yield f"its last segment before `{SKILL_FILE}`, {quoted(last)}, is not the name of a skill"


def _literal_fault(part: str) -> str | None:
    decoded = unquote(part)
    if "{" in part or "}" in part:
        return "is not one whole parameter, such as `{name}`"
    if decoded in {"", ".", ".."} or _REFUSED_IN_LITERALS & set(decoded):
        return "is not the name of one folder"
    if not (part.isprintable() and decoded.isprintable() and " " not in part):
        return "has characters that no URI may have, or that no one can see"
    return None
