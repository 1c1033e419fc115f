"""Who registers, and what: the paths of a client, and what it says of itself."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from skillwire.drive.paths import PROMPT_LEAVES, SKILL_LEAVES, LivePath
from skillwire.drive.reading import Fields, ShapeError, json_size
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.errors import InvalidValueError

GET = "GET"
METHODS = (GET, "POST", "PUT", "PATCH", "DELETE")
MAX_PATHS = 1000
"""Paths of one client."""
MAX_DESCRIPTOR = 8 * 1024
"""Bytes of all that is said of one path."""
MAX_ABOUT = 4 * 1024
"""Bytes of each thing that a client says of itself."""
RESERVED_IDS = frozenset({"mcp", "ui", "skills", "mdp", "healthz"})
"""Names of other routes: a client of that name could not be told from them."""

_ABOUT = ("name", "description", "version", "platform", "metadata")
_CONTENT_TYPE = re.compile(r"[\w.+-]+/[\w.+*-]+(?:; ?[\w.+-]+=[\w.+-]+)*", re.ASCII)
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._~@:+-]{0,127}", re.ASCII)


class PathType(StrEnum):
    """What stands at a path."""

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
    """Who somebody claims to be. Hooks decide what it is worth."""

    scheme: str | None = None
    token: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    metadata: Mapping[str, Json] | None = None

    @classmethod
    def read(cls, fields: Fields) -> "Auth":
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


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One path that a client answers."""

    type: PathType
    path: LivePath
    method: str
    sent: Mapping[str, Json]
    """All that the client says of it, as it was sent: listings show it so."""
    size: int = 0
    """Bytes of that."""

    @property
    def description(self) -> str | None:
        found = self.sent.get("description")
        return found if isinstance(found, str) else None

    @property
    def content_type(self) -> str | None:
        found = self.sent.get("contentType")
        return found if isinstance(found, str) else None

    @classmethod
    def read(cls, fields: Fields) -> "Descriptor":
        kind = PathType(fields.choice("type", tuple(PathType)))
        path = fields.parsed("path", LivePath.parse)
        if path.leaf not in _LEAVES[kind]:
            wanted = " or ".join(f"`{leaf}`" for leaf in _LEAVES[kind] if leaf) or "no reserved name"
            raise fields.fault("path", f"{kind} {quoted(path.text)} must end in {wanted}")
        method = fields.choice("method", METHODS) if kind is PathType.ENDPOINT else GET
        fields.text_or_none("description")
        content_type = fields.text_or_none("contentType")
        if content_type is not None and not _CONTENT_TYPE.fullmatch(content_type):
            raise fields.fault("contentType", f"{quoted(content_type)} is no type such as `text/markdown`")
        size = json_size(dict(fields.values))
        if size > MAX_DESCRIPTOR:
            raise fields.fault(
                "path", f"{quoted(path.text)} comes with {size:,} bytes; the limit is {MAX_DESCRIPTOR:,}"
            )
        return cls(kind, path, method, dict(fields.values), size)


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """A program that registered, and the paths that it answers."""

    id: str
    name: str
    paths: tuple[Descriptor, ...]
    about: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """What else it says of itself: description, version, platform, metadata."""

    @property
    def size(self) -> int:
        """Bytes of all that it says."""
        return json_size(dict(self.about)) + sum(each.size for each in self.paths)

    @classmethod
    def read(cls, fields: Fields) -> "ClientInfo":
        for name in _ABOUT:
            fields.within(name, MAX_ABOUT)
        about = without_none(
            description=fields.text_or_none("description"),
            version=fields.text_or_none("version"),
            platform=fields.text_or_none("platform"),
            metadata=fields.mapping_or_none("metadata"),
        )
        client_id = fields.parsed("id", checked_id)
        return cls(client_id, fields.text("name"), read_paths(fields), about)


def checked_id(text: str) -> str:
    """Return the id of a client. Raises `InvalidValueError`."""
    if not _ID.fullmatch(text):
        raise InvalidValueError(
            "client id", text, "1-128 of `A-Za-z0-9._~@:+-`, beginning with a letter, a digit or `_`"
        )
    if text.lower() in RESERVED_IDS:
        raise InvalidValueError("client id", text, "free: it is the name of another route; choose another")
    return text


def read_paths(fields: Fields) -> tuple[Descriptor, ...]:
    """Return the descriptors of a message, each path once."""
    paths: dict[tuple[str, str], Descriptor] = {}
    for part in fields.parts("paths", MAX_PATHS):
        descriptor = Descriptor.read(part)
        key = descriptor.method, descriptor.path.text
        if key in paths:
            raise ShapeError(
                f"{part.where}: {quoted(descriptor.path.text)} is there already; send each path once"
            )
        paths[key] = descriptor
    return tuple(paths.values())


def without_none(**values: Json) -> dict[str, Json]:
    """Return the fields that have a value: on the wire, the others are left out."""
    return {name: value for name, value in values.items() if value is not None}
