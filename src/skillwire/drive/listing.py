"""What a server with live skills lists, asked over MCP without an SDK."""

from collections.abc import Iterable

import httpx2
import orjson

from skillwire.drive.carrying import ServerAddress
from skillwire.drive.reading import Fields, ShapeError
from skillwire.drive.tree import ListedPath
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.errors import SkillwireError
from skillwire.model.json_text import JsonTooLargeError, load_bounded_json

_VERSION = "2026-07-28"
_META = "io.modelcontextprotocol/"
_TOOL = "listPaths"
_DEEP = 1_000_000
_MOST = 100_000
_PATIENCE = 30.0
_MAX_ANSWER = 64 * 1024 * 1024
"""Bytes of a list: twice what `skillwire serve` sends, because the answer has it as text and as a value."""
_MAX_VALUES = 1_000_000
"""JSON values of a list."""


class ListingError(SkillwireError):
    """The server could not be asked, or did not answer as one with live skills."""

    def __init__(self, message: str, hint: str) -> None:
        self.hint = hint
        super().__init__(message)


def listed_paths(address: ServerAddress, client_id: str | None, token: str | None) -> list[ListedPath]:
    """Return every path of every client, or of one. Raises `ListingError`."""
    url = f"{address.url.replace('ws', 'http', 1) if address.over_socket else address.url}/mcp"
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": _VERSION,
        "mcp-method": "tools/call",
        "mcp-name": _TOOL,
        **({} if token is None else {"authorization": f"Bearer {token}"}),
    }
    try:
        with (
            httpx2.Client(timeout=_PATIENCE, trust_env=not address.local) as http,
            http.stream("POST", url, json=_request(client_id), headers=headers) as answer,
        ):
            content = _bounded(url, answer.iter_bytes())
    except httpx2.TransportError as error:
        hint = "is it running? start it with `skillwire serve --http 8765 --drive`"
        raise ListingError(f"cannot reach {quoted(url)}: {error}", hint) from error
    if answer.status_code == 401:
        raise ListingError("the server wants a token", "name the variable that holds it: `--token-env VAR`")
    return _paths(url, content)


def _bounded(url: str, chunks: Iterable[bytes]) -> bytes:
    content = bytearray()
    for chunk in chunks:
        content += chunk
        if len(content) > _MAX_ANSWER:
            raise ListingError(
                f"{quoted(url)} answers with more than {_MAX_ANSWER:,} bytes", "name one with `--client ID`"
            )
    return bytes(content)


def _request(client_id: str | None) -> dict[str, Json]:
    arguments: dict[str, Json] = {"depth": _DEEP}
    if client_id is not None:
        arguments["clientId"] = client_id
    meta: dict[str, Json] = {
        f"{_META}protocolVersion": _VERSION,
        f"{_META}clientInfo": {"name": "skillwire", "version": "1"},
        f"{_META}clientCapabilities": {},
    }
    params: dict[str, Json] = {"name": _TOOL, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def _paths(url: str, answer: bytes) -> list[ListedPath]:
    try:
        message = Fields.of(load_bounded_json(answer, max_values=_MAX_VALUES))
        content = message.part("result").part("structuredContent")
        left_out = content.text_or_none("leftOut")
        paths = [ListedPath.read(part.values) for part in content.parts("paths", _MOST)]
    except (orjson.JSONDecodeError, JsonTooLargeError, ShapeError) as error:
        hint = "is it an MCP server with live skills? `skillwire serve --http 8765 --drive` is one"
        raise ListingError(f"{quoted(url)} has no list of live paths", hint) from error
    if left_out is not None:  # half a tree would look like a whole one
        raise ListingError(
            f"{quoted(url)} lists more than fits into one answer", "name one with `--client ID`"
        )
    return paths
