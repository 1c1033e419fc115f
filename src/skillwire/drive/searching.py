"""What a search of the tools looks at: the same fields as with the reference."""

from collections.abc import Iterator, Mapping
from typing import cast

import orjson

from skillwire.drive.registration import PathType
from skillwire.model.entry import Json

_ABOUT = ("description", "version", "platform", "metadata")
_OF_CLIENT = ("id", "name", *_ABOUT, "status", "connectedAt", "lastSeenAt")
_OF_CONNECTION = ("mode", "authSource")
_OF_PATH = ("clientId", "clientName", "type", "path", "description", "contentType")
_SCHEMAS = ("inputSchema", "outputSchema")
_BY_TYPE: dict[Json, tuple[str, ...]] = {
    PathType.ENDPOINT: ("method", *_SCHEMAS),
    PathType.PROMPT: _SCHEMAS,
}
"""What is looked at besides, by the type of a path."""


def needle(search: str | None) -> str | None:
    """Return what to look for, in lower case; None for nothing."""
    return (search or "").strip().lower() or None


def finds_client(search: str, client: Mapping[str, Json]) -> bool:
    """Whether a client as it is listed, or one of its paths, holds a text in lower case."""
    return any(search in text.lower() for text in _texts_of_client(client))


def finds_path(search: str, path: Mapping[str, Json]) -> bool:
    """Whether a path as it is listed holds a text in lower case."""
    return any(search in text.lower() for text in _texts_of_path(path))


def _texts_of_client(client: Mapping[str, Json]) -> Iterator[str]:
    yield from _texts(client, _OF_CLIENT)
    connection = cast("Mapping[str, Json]", client["connection"])
    yield from _texts(connection, _OF_CONNECTION)
    yield "secure" if connection["secure"] else "insecure"
    for path in cast("list[Mapping[str, Json]]", client["paths"]):
        yield from _texts_of_path(path)


def _texts_of_path(path: Mapping[str, Json]) -> Iterator[str]:
    return _texts(path, (*_OF_PATH, *_BY_TYPE.get(path["type"], ())))


def _texts(values: Mapping[str, Json], names: tuple[str, ...]) -> Iterator[str]:
    """Yield the fields that are there: text as it is, anything else as JSON."""
    for name in names:
        if (value := values.get(name)) is not None:
            yield value if isinstance(value, str) else orjson.dumps(value).decode()
