"""The messages of Model Drive Protocol 2.0.0, and the names that both ends of the HTTP loop use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import TypeAlias, TypeVar

from skillwire.core.record import Json
from skillwire.drive.fields import TOO_DEEP, JsonFields, ShapeError, too_deep
from skillwire.drive.registration import METHODS, Auth, ClientInfo, Descriptor, read_paths, without_none

LOOP_PATH = "/mdp/http-loop"
SESSION_HEADER = "x-mdp-session-id"


PROTOCOL = "mdp"
PROTOCOL_VERSION = "2.0.0"
PROTOCOL_RANGES = ("^2.0.0",)

_RESULT = "callClientResult"
_NO_REASON = "the program failed without a reason"
_Message = TypeVar("_Message")
Answer: TypeAlias = "Json | Nothing"
"""The data in a client's answer to a call: a JSON value, or `NOTHING`."""


class ErrorCode(StrEnum):
    """The code of a failed call."""

    BAD_REQUEST = "bad_request"
    NOT_FOUND = "not_found"
    TIMEOUT = "timeout"
    TRANSPORT_ERROR = "transport_error"
    HANDLER_ERROR = "handler_error"
    NOT_READY = "not_ready"


class Nothing(Enum):
    """Marks an answer that has no field `data`, as opposed to an answer with `"data": null`."""

    NOTHING = "nothing"


NOTHING = Nothing.NOTHING


@dataclass(frozen=True, slots=True)
class RegisterClient:
    """Registers a client and its paths."""

    client: ClientInfo
    auth: Auth | None = None


@dataclass(frozen=True, slots=True)
class UpdateCatalog:
    """Replaces all paths of a client."""

    client_id: str
    paths: tuple[Descriptor, ...]


@dataclass(frozen=True, slots=True)
class UnregisterClient:
    """Unregisters a client."""

    client_id: str


@dataclass(frozen=True, slots=True)
class CallError:
    """The code, message and details of a failed call, as the client or server reports them."""

    code: str
    message: str
    details: Json = None

    def to_json(self) -> dict[str, Json]:
        return without_none(code=self.code, message=self.message, details=self.details)


@dataclass(frozen=True, slots=True)
class CallResult:
    """A client's answer to a call: data or an error."""

    request_id: str
    data: Answer = NOTHING
    error: CallError | None = None


@dataclass(frozen=True, slots=True)
class Ping:
    timestamp: float


@dataclass(frozen=True, slots=True)
class Pong:
    timestamp: float


ClientMessage: TypeAlias = RegisterClient | UpdateCatalog | UnregisterClient | CallResult | Ping | Pong


@dataclass(frozen=True, slots=True)
class CallClient:
    """A call that the server sends to a client."""

    request_id: str
    client_id: str
    method: str
    path: str
    params: Mapping[str, str]
    query: Mapping[str, Json] | None = None
    body: Json = None
    headers: Mapping[str, str] | None = None
    auth: Auth | None = None
    null_body: bool = False
    """Whether the body is an explicit `null`, as opposed to missing."""

    def to_json(self) -> dict[str, Json]:
        return {
            "type": "callClient",
            "requestId": self.request_id,
            "clientId": self.client_id,
            "method": self.method,
            "path": self.path,
            "params": dict(self.params),
            **without_none(
                query=None if self.query is None else dict(self.query),
                body=self.body,
                headers=None if self.headers is None else dict(self.headers),
                auth=None if self.auth is None else self.auth.to_json(),
            ),
            **({"body": None} if self.null_body else {}),
        }


def read_client_message(value: object) -> ClientMessage:
    """Parse a message from a client. Raises `ShapeError` if it is invalid or nested too deeply.

    A result that is nested too deeply becomes an error instead, so that only its own call fails.
    """
    fields = JsonFields.of(value)
    if not too_deep(value):
        return _read(fields, _FROM_CLIENT)
    if fields.values.get("type") != _RESULT:
        raise ShapeError(f"the message: {TOO_DEEP}")
    error = CallError(ErrorCode.HANDLER_ERROR, f"the program's answer is {TOO_DEEP}")
    return CallResult(fields.text("requestId"), error=error)


def read_server_message(value: object) -> CallClient | Ping | Pong:
    """Parse a message from a server. Raises `ShapeError` if it is invalid."""
    return _read(JsonFields.of(value), _FROM_SERVER)


def ping(timestamp: int) -> dict[str, Json]:
    return {"type": "ping", "timestamp": timestamp}


def pong(timestamp: float) -> dict[str, Json]:
    return {"type": "pong", "timestamp": timestamp}


def _read(fields: JsonFields, known: Mapping[str, Callable[[JsonFields], _Message]]) -> _Message:
    return known[fields.choice("type", known)](fields)


def _register(fields: JsonFields) -> RegisterClient:
    return RegisterClient(ClientInfo.read(fields.part("client")), _auth(fields))


def _update(fields: JsonFields) -> UpdateCatalog:
    return UpdateCatalog(fields.text("clientId"), read_paths(fields))


def _unregister(fields: JsonFields) -> UnregisterClient:
    return UnregisterClient(fields.text("clientId"))


def _result(fields: JsonFields) -> CallResult:
    request_id = fields.text("requestId")
    if fields.flag("ok"):
        return CallResult(request_id, fields.values.get("data", NOTHING))
    if (error := fields.part_or_none("error")) is None:
        return CallResult(request_id, error=CallError(ErrorCode.HANDLER_ERROR, _NO_REASON))
    return CallResult(
        request_id,
        error=CallError(error.text("code"), error.text_or_none("message") or "", error.values.get("details")),
    )


def _call(fields: JsonFields) -> CallClient:
    return CallClient(
        fields.text("requestId"),
        fields.text("clientId"),
        fields.choice("method", METHODS),
        fields.text("path"),
        fields.texts_or_none("params") or {},
        fields.mapping_or_none("query"),
        fields.values.get("body"),
        fields.texts_or_none("headers"),
        _auth(fields),
    )


def _ping(fields: JsonFields) -> Ping:
    return Ping(fields.number("timestamp"))


def _pong(fields: JsonFields) -> Pong:
    return Pong(fields.number("timestamp"))


_FROM_CLIENT: dict[str, Callable[[JsonFields], ClientMessage]] = {
    "registerClient": _register,
    "updateClientCatalog": _update,
    "unregisterClient": _unregister,
    _RESULT: _result,
    "ping": _ping,
    "pong": _pong,
}
_FROM_SERVER: dict[str, Callable[[JsonFields], CallClient | Ping | Pong]] = {
    "callClient": _call,
    "ping": _ping,
    "pong": _pong,
}


def _auth(fields: JsonFields) -> Auth | None:
    part = fields.part_or_none("auth")
    return None if part is None else Auth.read(part)
