"""Parse a line or HTTP body from a client into a JSON-RPC message, or into the error to send back.

The SDK does not answer a line that it cannot parse, so the client would wait forever.
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
    """The error to send for input that is not a valid message."""

    answer: types.JSONRPCError


def read_message(line: bytes) -> types.JSONRPCMessage | Refusal:
    """Return the message in `line`, or the refusal to send back. Never raises.

    Checks every limit on the content of a message, so that later code need not check them again. The caller
    limits the length of `line`.
    """
    if has_more_values(line, MAX_MESSAGE_VALUES):
        return refusal(
            types.INVALID_REQUEST, f"a message may have at most {MAX_MESSAGE_VALUES:,} JSON values"
        )
    try:
        # Unlike other parsers, orjson rejects lone surrogates, NaN, invalid UTF-8 and unlimited nesting.
        value: object = orjson.loads(line)
    except orjson.JSONDecodeError:
        return refusal(types.PARSE_ERROR, "this line is not JSON")
    if isinstance(value, list):
        return refusal(types.INVALID_REQUEST, "batches are not supported; send one message per line")
    if not isinstance(value, dict):
        return refusal(types.INVALID_REQUEST, "a message must be a JSON object")
    if len(line) > NESTING_SAFE_BYTES and is_nested_too_deep(line, cast("object", value)):
        return refusal(
            types.INVALID_REQUEST, f"a message may have at most {MAX_NESTING} levels of objects and lists"
        )
    return _parse_message(cast("dict[str, Any]", value), len(line))


def _parse_message(message: dict[str, Any], length: int) -> types.JSONRPCMessage | Refusal:
    request_id = message.get("id")
    if length > MAX_ID_BYTES and isinstance(request_id, str) and is_longer(request_id, MAX_ID_BYTES):
        return refusal(types.INVALID_REQUEST, f"the id of a request may have at most {MAX_ID_BYTES:,} bytes")
    usable = request_id if is_id(request_id) else None
    if message.get("jsonrpc") != "2.0":
        return refusal(types.INVALID_REQUEST, 'a message must have `"jsonrpc": "2.0"`', usable)
    if "id" in message and "method" in message and usable is None:
        return refusal(types.INVALID_REQUEST, "the id of a request must be a string or a whole number")
    fault = None if isinstance(message.get("params", {}), dict) else "`params` must be an object"
    if fault is None and length > MAX_ID_BYTES:  # in a shorter message, nothing can be too long
        fault = _too_large(message)
    if fault is not None:
        return refusal(types.INVALID_PARAMS, fault, usable)
    try:
        return types.jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        return refusal(
            types.INVALID_REQUEST, "this is not a valid JSON-RPC request, notification or response", usable
        )


def _too_large(message: dict[str, Any]) -> str | None:
    """Return an error message if the method name or a parameter exceeds its limit, else None."""
    method = message.get("method")
    if not isinstance(method, str):  # a response, or not a message
        return None
    if is_longer(method, MAX_ID_BYTES):
        return f"the name of a method may have at most {MAX_ID_BYTES:,} bytes"
    try:
        check_params(method, message.get("params", {}))
    except BadParamsError as error:
        return str(error)
    return None


def is_id(value: object) -> TypeGuard[types.RequestId]:
    """Return whether `value` is a valid request id: a string or a whole number."""
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def refusal(code: int, message: str, request_id: str | int | None = None) -> Refusal:
    """Return a refusal with this JSON-RPC error. `request_id` is None if the id is unknown or invalid."""
    error = types.ErrorData(code=code, message=message)
    return Refusal(types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error))
