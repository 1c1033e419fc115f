"""The data that a client registers: properties, identity claim and paths. `PathTable` looks up paths."""

import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import orjson

from skillwire.core.record import Json
from skillwire.drive.fields import JsonFields, ShapeError, compact_json, json_size
from skillwire.drive.paths import PROMPT_LEAVES, SKILL_LEAVES, LivePath, best_match
from skillwire.errors import InvalidValueError
from skillwire.safe_text import quoted

_ATX_HEADING = re.compile(r"#{1,6}(?:\s|$)")
_FENCES = ("```", "~~~")
MAX_DESCRIPTION = 1024
GET = "GET"
METHODS = (GET, "POST", "PUT", "PATCH", "DELETE")
MAX_PATHS = 1000
"""Maximum number of paths of one client."""
MAX_DESCRIPTOR = 8 * 1024
"""Maximum size of a path's descriptor, in bytes."""
MAX_ABOUT = 4 * 1024
"""Maximum size of each field that describes a client, in bytes."""
RESERVED_IDS = frozenset({"mcp", "ui", "skills", "mdp", "healthz"})
"""Names of other routes. A client with one of these ids would conflict with the route."""
_SCHEMAS = ("inputSchema", "outputSchema")
_SHAPES = (*_SCHEMAS, "arguments")
_CLIENT_BYTES, _PATH_BYTES, _POINTERS = 8192, 512, 16
"""Estimated memory in bytes for a client, a path and each text of a path, besides the texts themselves."""
_ABOUT = ("name", "description", "version", "platform", "metadata")
_CONTENT_TYPE = re.compile(r"[\w.+-]+/[\w.+*-]+(?:; ?[\w.+-]+=[\w.+-]+)*", re.ASCII)
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._~@:+-]{0,127}", re.ASCII)


def first_paragraph(text: str) -> str:
    """Return the first paragraph on one line, cut to `MAX_DESCRIPTION` characters, or `""` if there is none.

    Heading lines, and paragraphs that begin with a code fence, are skipped.
    """
    found: list[str] = []
    fence = ""
    for line in text.removeprefix("\ufeff").splitlines():
        stripped = line.strip()
        if fence:
            closes = stripped.startswith(fence) and not stripped.strip(fence[0])
            fence = "" if closes else fence
        elif stripped.startswith(_FENCES):
            if found:
                break
            fence = stripped[: len(stripped) - len(stripped.lstrip(stripped[0]))]
        elif not stripped.strip("=-*_ ") or _ATX_HEADING.match(stripped):
            if found:
                break
        else:
            found.append(stripped)
    return " ".join(found)[:MAX_DESCRIPTION]


class PathType(StrEnum):
    """The type of a path: skill, prompt or endpoint."""

    SKILL = "skill"
    PROMPT = "prompt"
    ENDPOINT = "endpoint"


_LEAVES: dict[PathType, tuple[str | None, ...]] = {
    PathType.SKILL: SKILL_LEAVES,
    PathType.PROMPT: PROMPT_LEAVES,
    PathType.ENDPOINT: (None,),
}


@dataclass(frozen=True, slots=True)
class Auth:
    """What a program or caller claims about its identity. Hooks decide whether to trust the claim."""

    scheme: str | None = None
    token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    metadata: Mapping[str, Json] | None = None

    @classmethod
    def read(cls, fields: JsonFields) -> "Auth":
        return cls(
            fields.text_or_none("scheme"),
            fields.text_or_none("token"),
            fields.texts_or_none("headers"),
            fields.mapping_or_none("metadata"),
        )

    def to_json(self) -> dict[str, Json]:
        return without_none(
            scheme=self.scheme,
            token=self.token,
            headers=None if self.headers is None else dict(self.headers),
            metadata=None if self.metadata is None else dict(self.metadata),
        )

    def without(self, secret: str | None) -> "Auth":
        """Return the claim without the parts that contain `secret`. If it is None, return the whole claim."""
        if secret is None:
            return self
        has_secret = self.token is not None and secret in self.token
        headers, metadata = self.headers, self.metadata
        if headers is not None:
            headers = {name: value for name, value in headers.items() if secret not in value} or None
        if metadata is not None and orjson.dumps(secret)[1:-1] in orjson.dumps(dict(metadata)):
            metadata = None
        return Auth(
            None if has_secret else self.scheme, None if has_secret else self.token, headers, metadata
        )


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The registered properties of one path that a client answers."""

    type: PathType
    path: LivePath
    method: str
    description: str | None = None
    content_type: str | None = None
    shapes: bytes = b"{}"
    """The input schema, output schema and arguments, as a JSON object with the keys in `_SHAPES`.

    Stored as JSON, because parsed values take more memory.
    """
    size: int = 0
    """Estimated bytes of memory."""

    @property
    def listed(self) -> dict[str, Json]:
        """The descriptor in listings. It contains only known fields."""
        shapes: dict[str, Json] = orjson.loads(self.shapes)
        method = self.method if self.type is PathType.ENDPOINT else None
        own = without_none(
            type=self.type.value,
            path=self.path.text,
            method=method,
            description=self.description,
            contentType=self.content_type,
        )
        return {**shapes, **own}

    @classmethod
    def read(cls, fields: JsonFields) -> "Descriptor":
        kind = PathType(fields.choice("type", tuple(PathType)))
        path = fields.parsed("path", LivePath.parse)
        if path.leaf not in _LEAVES[kind]:
            expected = " or ".join(f"`{leaf}`" for leaf in _LEAVES[kind] if leaf) or "no reserved name"
            raise fields.fault("path", f"{kind} {quoted(path.text)} must end in {expected}")
        method = fields.choice("method", METHODS) if kind is PathType.ENDPOINT else GET
        description = fields.text_or_none("description")
        content_type = fields.text_or_none("contentType")
        if content_type is not None and not _CONTENT_TYPE.fullmatch(content_type):
            raise fields.fault("contentType", f"{quoted(content_type)} is not a type such as `text/markdown`")
        size = json_size(dict(fields.values))  # including unknown fields, to report which path is too large
        if size > MAX_DESCRIPTOR:
            raise fields.fault(
                "path", f"{quoted(path.text)} has {size:,} bytes; the limit is {MAX_DESCRIPTOR:,}"
            )
        if kind is not PathType.SKILL:
            for name in _SCHEMAS:
                fields.mapping_or_none(name)
        shapes = {name: fields.values[name] for name in _SHAPES if fields.values.get(name) is not None}
        stored = compact_json(shapes)
        texts = (path.text, *path.segments, description, content_type, stored)
        memory = _PATH_BYTES + sum(_POINTERS + sys.getsizeof(text) for text in texts)
        return cls(kind, path, method, description, content_type, stored, memory)


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """A connected program, and the paths that it answers."""

    id: str
    name: str
    paths: tuple[Descriptor, ...]
    about_json: bytes = b"{}"
    """The fields of `about`. Stored as JSON, because parsed values take far more memory."""

    @property
    def about(self) -> dict[str, Json]:
        """The description, version, platform and metadata. Fields that are not set are missing."""
        return orjson.loads(self.about_json)

    @property
    def size(self) -> int:
        """Estimated bytes of memory."""
        own = _CLIENT_BYTES + sys.getsizeof(self.name) + sys.getsizeof(self.about_json)
        return own + sum(each.size for each in self.paths)

    @classmethod
    def read(cls, fields: JsonFields) -> "ClientInfo":
        for name in _ABOUT:
            fields.require_max_size(name, MAX_ABOUT)
        about = without_none(
            description=fields.text_or_none("description"),
            version=fields.text_or_none("version"),
            platform=fields.text_or_none("platform"),
            metadata=fields.mapping_or_none("metadata"),
        )
        client_id = fields.parsed("id", checked_id)
        return cls(client_id, fields.text("name"), read_paths(fields), compact_json(about))


def checked_id(text: str) -> str:
    """Return `text`. Raises `InvalidValueError` if it is not a valid client id."""
    if not _ID.fullmatch(text):
        raise InvalidValueError(
            "client id", text, "1-128 of `A-Za-z0-9._~@:+-`, beginning with a letter, a digit or `_`"
        )
    if text.lower() in RESERVED_IDS:
        raise InvalidValueError(
            "client id", text, "available: it is the name of another route; choose another"
        )
    return text


def read_paths(fields: JsonFields) -> tuple[Descriptor, ...]:
    """Return the descriptors in a message.

    Raises `ShapeError` if one is invalid, if there are too many, or if a path is repeated with its method.
    """
    paths: dict[tuple[str, str], Descriptor] = {}
    for part in fields.parts("paths", MAX_PATHS):
        descriptor = Descriptor.read(part)
        key = descriptor.method, descriptor.path.text
        if key in paths:
            raise ShapeError(
                f"{part.where}: {quoted(descriptor.path.text)} is a duplicate; send each path once"
            )
        paths[key] = descriptor
    return tuple(paths.values())


def without_none(**values: Json) -> dict[str, Json]:
    """Return the fields that are not None, because the protocol omits null fields."""
    return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class PathTable:
    """Finds the descriptor for a path.

    Paths without parameters are looked up first, because they are the most specific.
    """

    exact: Mapping[tuple[str, str], Descriptor] = field(default_factory=dict[tuple[str, str], Descriptor])
    patterns: tuple[Descriptor, ...] = ()

    @classmethod
    def of(cls, descriptors: Collection[Descriptor]) -> "PathTable":
        return cls(
            {(each.method, each.path.text): each for each in descriptors if not each.path.parameters},
            tuple(each for each in descriptors if each.path.parameters),
        )

    def find(
        self, method: str, requested: LivePath, types: Collection[PathType] = tuple(PathType)
    ) -> tuple[Descriptor, dict[str, str]] | None:
        """Return the descriptor that matches `requested`, and the path parameters.

        Return None if no descriptor with this method and one of the `types` matches.
        """
        exact = self.exact.get((method, requested.text))
        if exact is not None and exact.type in types:
            return exact, {}
        if not self.patterns or requested.parameters:
            return None
        candidates = {
            each.path: each for each in self.patterns if each.method == method and each.type in types
        }
        found = best_match(candidates, requested)
        return None if found is None else (candidates[found[0]], found[1])
