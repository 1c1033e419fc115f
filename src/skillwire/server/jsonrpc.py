"""A line from a client to a JSON-RPC message, or to the error that the client must hear.

The SDK says nothing to a line that it cannot read, and then the client waits for ever.
"""

from dataclasses import dataclass
from typing import Any, TypeGuard, cast

import mcp_types as types
import orjson
from pydantic import ValidationError

from skillwire.core.json_text import has_more_values
from skillwire.errors import BadParamsError
from skillwire.protocol.bounds import (
    MAX_ID_BYTES,
    MAX_MESSAGE_VALUES,
    MAX_NESTING,
    NESTING_SAFE_BYTES,
    check_params,
    is_longer,
    is_nested_too_deep,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What to answer to something that is no message. (An error that a client sends is a message.)"""

    answer: types.JSONRPCError


def read_message(line: bytes) -> types.JSONRPCMessage | Refusal:
    """Return the message in `line`, or what to answer instead. Never raises.

    Every limit on what a client may send is checked here. Code behind it need not check again.
    """
    if has_more_values(line, MAX_MESSAGE_VALUES):
        return refusal(types.INVALID_REQUEST, f"a message may have {MAX_MESSAGE_VALUES:,} JSON values")
    try:
        # orjson refuses what others let pass: lone surrogates, NaN, bad UTF-8, nesting without end.
        value: object = orjson.loads(line)
    except orjson.JSONDecodeError:
        return refusal(types.PARSE_ERROR, "this line is not JSON")
    if isinstance(value, list):
        return refusal(types.INVALID_REQUEST, "batches are not supported; send one message a line")
    if not isinstance(value, dict):
        return refusal(types.INVALID_REQUEST, "a message is a JSON object")
    if len(line) > NESTING_SAFE_BYTES and is_nested_too_deep(line, cast("object", value)):
        return refusal(types.INVALID_REQUEST, f"a message may have {MAX_NESTING} levels of objects and lists")
    return _parse_message(cast("dict[str, Any]", value), len(line))


def _parse_message(message: dict[str, Any], length: int) -> types.JSONRPCMessage | Refusal:
    request_id = message.get("id")
    if length > MAX_ID_BYTES and isinstance(request_id, str) and is_longer(request_id, MAX_ID_BYTES):
        return refusal(types.INVALID_REQUEST, f"the id of a request may have {MAX_ID_BYTES:,} bytes")
    usable = request_id if is_id(request_id) else None
    if message.get("jsonrpc") != "2.0":
        return refusal(types.INVALID_REQUEST, 'a message has `"jsonrpc": "2.0"`', usable)
    if "id" in message and "method" in message and usable is None:
        return refusal(types.INVALID_REQUEST, "the id of a request is a string or a whole number")
    fault = None if isinstance(message.get("params", {}), dict) else "`params` is an object"
    if fault is None and length > MAX_ID_BYTES:  # in a shorter one, nothing can be too long
        fault = _too_large(message)
    if fault is not None:
        return refusal(types.INVALID_PARAMS, fault, usable)
    try:
        return types.jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        return refusal(
            types.INVALID_REQUEST, "this is not a JSON-RPC request, notification or response", usable
        )


def _too_large(message: dict[str, Any]) -> str | None:
    """Return which part of a request is larger than its limit allows."""
    method = message.get("method")
    if not isinstance(method, str):  # an answer, or no message at all
        return None
    if is_longer(method, MAX_ID_BYTES):
        return f"the name of a method may have {MAX_ID_BYTES:,} bytes"
    try:
        check_params(method, message.get("params", {}))
    except BadParamsError as error:
        return str(error)
    return None


def is_id(value: object) -> TypeGuard[types.RequestId]:
    """Whether a request may have this id: a string or a whole number."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def refusal(code: int, message: str, request_id: str | int | None = None) -> Refusal:
    """Return the answer to what cannot be understood, with the id of the request if that much is known."""
    error = types.ErrorData(code=code, message=message)
    return Refusal(types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error))
