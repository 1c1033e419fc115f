"""A line from a client to a JSON-RPC message, or to the error that the client must hear.

The SDK says nothing to a line that it cannot read, and then the client waits for ever.
"""

from dataclasses import dataclass
from typing import Any, TypeGuard, cast

import mcp_types as types
import orjson
from pydantic import ValidationError


@dataclass(frozen=True, slots=True)
class Refusal:
    """What to answer to something that is no message. (An error that a client sends is a message.)"""

    answer: types.JSONRPCError


def read_message(line: bytes) -> types.JSONRPCMessage | Refusal:
    """Return the message in `line`, or what to answer instead. Never raises."""
    try:
        # orjson refuses what others let pass: lone surrogates, NaN, bad UTF-8, nesting without end.
        value: object = orjson.loads(line)
    except orjson.JSONDecodeError:
        return refusal(types.PARSE_ERROR, "this line is not JSON")
    if isinstance(value, list):
        return refusal(types.INVALID_REQUEST, "batches are not supported; send one message a line")
    if not isinstance(value, dict):
        return refusal(types.INVALID_REQUEST, "a message is a JSON object")
    return _checked(cast("dict[str, Any]", value))


def _checked(message: dict[str, Any]) -> types.JSONRPCMessage | Refusal:
    identity = message.get("id")
    usable = identity if is_id(identity) else None
    if message.get("jsonrpc") != "2.0":
        return refusal(types.INVALID_REQUEST, 'a message has `"jsonrpc": "2.0"`', usable)
    if "id" in message and "method" in message and usable is None:
        return refusal(types.INVALID_REQUEST, "the id of a request is a string or a whole number")
    if not isinstance(message.get("params", {}), dict):
        return refusal(types.INVALID_PARAMS, "`params` is an object", usable)
    try:
        return types.jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        return refusal(
            types.INVALID_REQUEST, "this is not a JSON-RPC request, notification or response", usable
        )


def is_id(value: object) -> TypeGuard[types.RequestId]:
    """Whether a request may have this id: a string or a whole number."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def refusal(code: int, message: str, identity: str | int | None = None) -> Refusal:
    """Return the answer to what cannot be understood, with the id of the request if that much is known."""
    error = types.ErrorData(code=code, message=message)
    return Refusal(types.JSONRPCError(jsonrpc="2.0", id=identity, error=error))
