"""Four MCP tools to list, search and call the paths of connected programs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate
from typing import cast

import anyio
import orjson

from skillwire.core.record import Json
from skillwire.drive.errors import call_error, failure
from skillwire.drive.fields import JsonFields, ShapeError
from skillwire.drive.hub import Hub, OnlineClient
from skillwire.drive.messages import Answer, CallError, ErrorCode, Nothing
from skillwire.drive.policy import PathRequest
from skillwire.drive.registration import METHODS, Auth, PathType
from skillwire.errors import CallFailedError
from skillwire.features.base import Call
from skillwire.features.tools import Run, Tool, structured_result
from skillwire.safe_text import quoted

_ABOUT = ("description", "version", "platform", "metadata")
_CLIENT_FIELDS = ("id", "name", *_ABOUT, "status", "connectedAt", "lastSeenAt")
_CONNECTION_FIELDS = ("mode", "authSource")
_PATH_FIELDS = ("clientId", "clientName", "type", "path", "description", "contentType")
_SCHEMAS = ("inputSchema", "outputSchema")
_BY_TYPE: dict[Json, tuple[str, ...]] = {
    PathType.ENDPOINT: ("method", *_SCHEMAS),
    PathType.PROMPT: _SCHEMAS,
}
"""Additional fields that a search includes, by path type."""
MAX_ANSWERS = 16 * 1024 * 1024
"""Maximum total size of the items or answers in one tool's result, in bytes."""
MAX_SENT = 16 * 1024 * 1024
"""Maximum total size of the messages that one `callPaths` sends, in bytes. Each client gets its own copy."""
MAX_ANSWER_VALUES = 200_000
"""Maximum number of JSON values in the result of `callPaths`."""
_TEXT: Json = {"type": "string"}
_TEXTS: Json = {"type": "object", "additionalProperties": {"type": "string"}}
_REQUEST: dict[str, Json] = {
    "method": {
        "type": "string",
        "enum": list(METHODS),
        "description": "GET for skills and prompts; for an endpoint, the method it is listed with.",
    },
    "path": {
        "type": "string",
        "description": "A path from `listPaths`, with its parameters replaced by values.",
    },
    "query": {"type": "object", "description": "Query parameters for the program."},
    "body": {"description": "Any JSON value, for endpoints that take one."},
    "headers": {"type": "object", "additionalProperties": _TEXT, "description": "Headers for the program."},
    "auth": {
        "type": "object",
        "description": "Who is calling, for programs that need to know.",
        "properties": {"scheme": _TEXT, "token": _TEXT, "headers": _TEXTS, "metadata": {"type": "object"}},
        "additionalProperties": False,
    },
}
_CLIENT_ID: Json = {"type": "string", "description": "The id of a client, from `listClients`."}
_SEARCH: Json = {"type": "string", "description": "Return only what contains this text, ignoring case."}
_READ_ONLY: dict[str, Json] = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
_MUTATING: dict[str, Json] = {"readOnlyHint": False, "openWorldHint": True}


def normalize_search(search: str | None) -> str | None:
    """Return the text to search for, stripped and in lowercase, or None if it is missing or empty."""
    return (search or "").strip().lower() or None


def client_matches(search: str, client: Mapping[str, Json]) -> bool:
    """Return whether a listed client or one of its paths contains the lowercase `search`, in any case."""
    return any(search in text.lower() for text in _texts_of_client(client))


def path_matches(search: str, path: Mapping[str, Json]) -> bool:
    """Return whether a listed path contains the lowercase `search`, in any case."""
    return any(search in text.lower() for text in _texts_of_path(path))


def _texts_of_client(client: Mapping[str, Json]) -> Iterator[str]:
    yield from _texts(client, _CLIENT_FIELDS)
    connection = cast("Mapping[str, Json]", client["connection"])
    yield from _texts(connection, _CONNECTION_FIELDS)
    yield "secure" if connection["secure"] else "insecure"
    for path in cast("list[Mapping[str, Json]]", client["paths"]):
        yield from _texts_of_path(path)


def _texts_of_path(path: Mapping[str, Json]) -> Iterator[str]:
    return _texts(path, (*_PATH_FIELDS, *_BY_TYPE.get(path["type"], ())))


def _texts(values: Mapping[str, Json], names: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of the fields that are set: text unchanged, anything else as JSON."""
    for name in names:
        if (value := values.get(name)) is not None:
            yield value if isinstance(value, str) else orjson.dumps(value).decode()


def bridge_tools(hub: Hub) -> tuple[Tool, ...]:
    """Return the four tools that list, search and call the paths of connected programs."""
    bridge = _Bridge(hub)
    return (
        Tool(
            "listClients",
            "List the connected programs, with the paths of each.",
            _schema({"search": _SEARCH}),
            _READ_ONLY,
            _errors_as_results(bridge.list_clients),
        ),
        Tool(
            "listPaths",
            "List the paths of connected programs: skills, prompts and endpoints. Begin here, without "
            "arguments, then request more `depth` to see deeper levels.",
            _schema(
                {
                    "clientId": _CLIENT_ID,
                    "search": _SEARCH,
                    "depth": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "How many levels to show; 1 unless you search, then all.",
                    },
                }
            ),
            _READ_ONLY,
            _errors_as_results(bridge.list_paths),
        ),
        Tool(
            "callPath",
            "Call one path of one connected program, and return its answer.",
            _schema({"clientId": _CLIENT_ID, **_REQUEST}, "clientId", "method", "path"),
            _MUTATING,
            _errors_as_results(bridge.call_path),
        ),
        Tool(
            "callPaths",
            "Call one path of several connected programs at once. Without `clientIds`, or if the list is "
            "empty, it is called on all programs that have it.",
            _schema({"clientIds": {"type": "array", "items": _CLIENT_ID}, **_REQUEST}, "method", "path"),
            _MUTATING,
            _errors_as_results(bridge.call_paths),
        ),
    )


def _schema(properties: dict[str, Json], *required: str) -> dict[str, Json]:
    schema: dict[str, Json] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def _errors_as_results(run: Run) -> Run:
    """Wrap `run` so that failed calls and invalid arguments become results, for the model to correct."""

    async def run_safely(call: Call) -> dict[str, Json]:
        try:
            return await run(call)
        except CallFailedError as error:
            return structured_result(failure(call_error(error)), is_error=True)
        except ShapeError as error:
            return structured_result(failure(CallError(ErrorCode.BAD_REQUEST, str(error))), is_error=True)

    return run_safely


class _Bridge:
    """The functions that run the four tools."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def list_clients(self, call: Call) -> dict[str, Json]:
        fields = _arguments(call, "search")
        search = normalize_search(fields.text_or_none("search"))
        listed = map(_client, self._hub.clients)
        found: list[Json] = [each for each in listed if search is None or client_matches(search, each)]
        return structured_result(_limit_results("clients", found, "narrow the list with `search`"))

    async def list_paths(self, call: Call) -> dict[str, Json]:
        fields = _arguments(call, "clientId", "search", "depth")
        client_id, search = fields.text_or_none("clientId"), normalize_search(fields.text_or_none("search"))
        depth = fields.positive_or_none("depth") or (None if search else 1)
        listed: Iterator[dict[str, Json]] = (
            {"clientId": online.info.id, "clientName": online.info.name, **each.listed}
            for online in self._hub.clients
            if not client_id or online.info.id == client_id
            for each in online.info.paths
            if depth is None or each.path.depth <= depth
        )
        paths: list[Json] = [each for each in listed if search is None or path_matches(search, each)]
        return structured_result(
            _limit_results("paths", paths, "use `clientId`, `search` or a smaller `depth`")
        )

    async def call_path(self, call: Call) -> dict[str, Json]:
        fields = _arguments(call, "clientId", *_REQUEST)
        client_id = fields.text("clientId")
        return structured_result(_success(await self._hub.call(client_id, _request(fields))))

    async def call_paths(self, call: Call) -> dict[str, Json]:
        """Call a path on several clients concurrently, and return the answer or error of each."""
        fields = _arguments(call, "clientIds", *_REQUEST)
        request = _request(fields)
        ids = self._select_clients(fields, request)
        if not ids:
            message = f"no connected program has {quoted(request.path)} with method {quoted(request.method)}"
            return structured_result(failure(CallError(ErrorCode.NOT_FOUND, message)), is_error=True)
        if (size := _size(request) * len(ids)) > MAX_SENT:
            message = (
                f"the request would have {size:,} bytes for {len(ids):,} programs together; the limit is "
                f"{MAX_SENT:,}; call fewer with `clientIds`"
            )
            return structured_result(failure(CallError(ErrorCode.BAD_REQUEST, message)), is_error=True)
        answers = _Answers()
        async with anyio.create_task_group() as tasks:
            for client_id in ids:
                tasks.start_soon(self._collect, client_id, request, answers)
        return structured_result({"results": [answers.of(client_id) for client_id in ids]})

    async def _collect(self, client_id: str, request: PathRequest, answers: "_Answers") -> None:
        """Call a path on one client, and store the answer or error."""
        try:
            answers.put(client_id, _success(await self._hub.call(client_id, request)))
        except CallFailedError as error:  # one failure does not affect the others
            answers.put(client_id, failure(call_error(error)))

    def _select_clients(self, fields: JsonFields, request: PathRequest) -> tuple[str, ...]:
        if fields.values.get("clientIds") in (None, []):
            return self._hub.clients_at(request.method, request.path)
        ids = fields.items("clientIds", self._hub.limits.sessions)
        if not all(isinstance(each, str) for each in ids):
            raise fields.fault("clientIds", "must be a list of text")
        return tuple(dict.fromkeys(str(each) for each in ids))


def _arguments(call: Call, *known: str) -> JsonFields:
    fields = JsonFields.of(dict(call.params), "")
    fields.reject_unknown(known)
    return fields


def _request(fields: JsonFields) -> PathRequest:
    auth = fields.part_or_none("auth")
    return PathRequest(
        fields.choice("method", METHODS),
        fields.text("path"),
        fields.mapping_or_none("query"),
        fields.values.get("body"),
        fields.texts_or_none("headers"),
        None if auth is None else _drop_empty(Auth.read(auth)),
        null_body="body" in fields.values and fields.values["body"] is None,
    )


def _drop_empty(auth: Auth) -> Auth:
    """Return `auth`, with an empty scheme or token replaced by None."""
    return replace(auth, scheme=auth.scheme or None, token=auth.token or None)


def _success(data: Answer) -> dict[str, Json]:
    return {"ok": True} if isinstance(data, Nothing) else {"ok": True, "data": data}


def _size(request: PathRequest) -> int:
    """Return the size in bytes of a request's query, body, headers and auth.

    Return 0 if they cannot be encoded, because each call then reports the error.
    """
    parts = (
        request.query,
        request.body,
        request.headers,
        None if request.auth is None else request.auth.to_json(),
    )
    try:
        return sum(len(orjson.dumps(part)) for part in parts if part is not None)
    except TypeError:
        return 0


class _Answers:
    """Collects the answers from several clients. An answer beyond the limits is replaced by an error.

    Stores the answers as bytes until all have arrived.
    """

    def __init__(self) -> None:
        self._bytes = MAX_ANSWERS
        self._values = MAX_ANSWER_VALUES
        self._encoded: dict[str, bytes] = {}

    def put(self, client_id: str, answer: dict[str, Json]) -> None:
        encoded = orjson.dumps(answer)
        values = sum(encoded.count(mark) for mark in (b",", b"[", b"{"))
        if len(encoded) > self._bytes or values > self._values:
            limit = f"{MAX_ANSWERS:,} bytes or {MAX_ANSWER_VALUES:,} values"
            message = f"all answers together exceed {limit}; call fewer with `clientIds`"
            encoded = orjson.dumps(failure(CallError(ErrorCode.TRANSPORT_ERROR, message)))
        else:
            self._bytes -= len(encoded)
            self._values -= values
        self._encoded[client_id] = encoded

    def of(self, client_id: str) -> dict[str, Json]:
        answer: dict[str, Json] = orjson.loads(self._encoded[client_id])
        return {"clientId": client_id, **answer}


def _limit_results(name: str, found: list[Json], advice: str) -> dict[str, Json]:
    """Return the items that fit the limit, as the field `name`.

    If items are left out, `leftOut` contains their number and `advice`.
    """
    sizes = accumulate(len(orjson.dumps(each, option=orjson.OPT_INDENT_2)) for each in found)
    fits = sum(1 for size in sizes if size <= MAX_ANSWERS)
    shown: dict[str, Json] = {name: found[:fits]}
    left = len(found) - fits
    return {**shown, "leftOut": f"{left:,} more; {advice}"} if left else shown


def _client(online: OnlineClient) -> dict[str, Json]:
    info = online.info
    return {
        "id": info.id,
        "name": info.name,
        **info.about,
        "paths": [each.listed for each in info.paths],
        "status": "online",
        "connectedAt": _time(online.session.connected_at),
        "lastSeenAt": _time(online.session.seen_at),
        "connection": {
            "mode": online.connection.mode.value,
            "secure": online.connection.secure,
            "authSource": online.session.auth_source,
        },
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
