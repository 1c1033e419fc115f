"""The requests that the response cache answers: their exact form, and the question that each contains."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeGuard, cast

import orjson

from skillwire.features.base import Call
from skillwire.protocol.bounds import MAX_ID_BYTES, MAX_PARAMETER_BYTES, is_longer
from skillwire.protocol.messages import RESOURCES_READ, SKILLS_GET, SKILLS_LIST

MODERN_VERSION = "2026-07-28"
MCP_META_PREFIX = "io.modelcontextprotocol/"

_MAX_MESSAGE_BYTES = MAX_PARAMETER_BYTES
"""Maximum size of a request that the cache handles, in bytes, without its trace context.

In a message this short, no parameter exceeds its limit.
"""
MAX_TRACE_BYTES = 16 * 1024
"""Maximum size of a request's trace context, in bytes. W3C allows 8 KiB of `baggage`, and less of the others.
"""
TRACE_KEYS = ("traceparent", "tracestate", "baggage")
"""The keys of the trace context in `_meta` (SEP-414). Their values are strings, and affect no response.

As W3C requires, a value that is not in the right format is ignored like one that is.
"""

_ARGUMENT = {SKILLS_LIST: "cursor", SKILLS_GET: "uri", RESOURCES_READ: "uri"}
"""The only parameter of each cached method. Only `skills/list` may omit it."""
CACHED_METHODS = tuple(_ARGUMENT)
"""The methods whose responses are cached."""
_VERSION, _CAPABILITIES = f"{MCP_META_PREFIX}protocolVersion", f"{MCP_META_PREFIX}clientCapabilities"
_CLIENT = frozenset({"name", "version", "title"})


class Question(NamedTuple):
    """A request without its id that the cache can answer. It is the key of a cached response."""

    method: str
    argument: str | None
    modern: bool

    def to_call(self) -> Call:
        """Convert the question to a call of the method that answers it."""
        return Call({} if self.argument is None else {_ARGUMENT[self.method]: self.argument})


def parse_request(message: bytes, *, modern: bool) -> tuple[str | int, Question] | None:
    """Return the id and question of a request, or None if the cache cannot answer it.

    `modern` tells whether the client uses protocol 2026-07-28, or an earlier one after `initialize`.
    """
    if len(message) > _MAX_MESSAGE_BYTES + MAX_TRACE_BYTES:
        return None
    try:
        request: object = orjson.loads(message)
    except orjson.JSONDecodeError:
        return None
    parsed = parse_message(request, modern=modern)
    if parsed is None or len(message) <= _MAX_MESSAGE_BYTES:
        return parsed
    # What is parsed is an object. It can only be this long because of `_meta`.
    meta = cast("dict[str, Any]", request).get("params", _NO_PARAMS).get("_meta", _NO_PARAMS)
    return None if _rest_length(message, meta) > _MAX_MESSAGE_BYTES else parsed


def parse_message(request: object, *, modern: bool) -> tuple[str | int, Question] | None:
    """Return the id and question of a decoded request, or None if the cache cannot answer it."""
    if not _is_object(request) or not _is_request(request):
        return None
    params = request.get("params", _NO_PARAMS)
    if not _is_object(params) or len(request) != (3 if params is _NO_PARAMS else 4):
        return None
    meta = params.get("_meta", _NO_PARAMS)
    if not _is_plain_envelope(meta, modern=modern):
        return None
    return _parse_params(request, params, others=meta is not _NO_PARAMS, modern=modern)


def _parse_params(
    message: dict[str, Any], params: dict[str, Any], *, others: int, modern: bool
) -> tuple[str | int, Question] | None:
    """Return the id and question of a request, or None.

    `params` must contain only the method's argument and `others` keys, which are already checked.
    """
    method: str = message["method"]
    argument = params.get(_ARGUMENT[method])
    if argument is None:
        if method != SKILLS_LIST or len(params) != others:
            return None
    elif type(argument) is not str or len(params) != others + 1:
        return None
    return message["id"], Question(method, argument, modern)


def _is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return type(value) is dict


def _is_request(message: dict[str, Any]) -> bool:
    return (
        message.get("jsonrpc") == "2.0"
        and _is_id(message.get("id"))
        and type(method := message.get("method")) is str
        and method in _ARGUMENT
    )


def _is_id(value: object) -> bool:
    return type(value) is int or (type(value) is str and not is_longer(value, MAX_ID_BYTES))


def _rest_length(message: bytes, meta: dict[str, Any]) -> int:
    """Return at least the size of a message without its trace context, in bytes."""
    return len(message) - sum(len(meta.get(key, "")) for key in TRACE_KEYS)


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_plain_envelope(meta: object, *, modern: bool) -> TypeGuard[dict[str, Any]]:
    """Return whether `_meta` has the members that its version requires, and no unknown or bad ones."""
    if not _is_object(meta):
        return False
    if modern:
        if _CAPABILITIES not in meta or _VERSION not in meta:
            return False
    elif not meta.keys() <= _LEGACY_META:
        return False
    for key, value in meta.items():
        known = _ENVELOPE.get(key)
        if known is None or not known(value):
            return False
    return True


def _is_client(value: object) -> bool:
    if not _is_object(value) or "name" not in value or "version" not in value:
        return False
    return all(key in _CLIENT and type(each) is str for key, each in value.items())


def _is_capabilities(value: object) -> bool:
    if not _is_object(value):
        return False
    return all(key in _DECLARED and _DECLARED[key](each) for key, each in value.items())


def _is_object_of_objects(value: object) -> bool:
    return _is_object(value) and all(_is_object(each) for each in value.values())


def _is_roots(value: object) -> bool:
    return _is_object(value) and all(
        key == "listChanged" and type(each) is bool for key, each in value.items()
    )


def _is_sampling(value: object) -> bool:
    return _is_object_of_objects(value) and cast("dict[str, Any]", value).keys() <= {"context", "tools"}


def _is_elicitation(value: object) -> bool:
    return _is_object_of_objects(value) and cast("dict[str, Any]", value).keys() <= {"form", "url"}


_DECLARED: Mapping[str, Callable[[object], bool]] = {
    "roots": _is_roots,
    "sampling": _is_sampling,
    "elicitation": _is_elicitation,
    "extensions": _is_object_of_objects,
    "experimental": _is_object_of_objects,
}
_ENVELOPE: Mapping[str, Callable[[object], bool]] = {
    _VERSION: lambda value: value == MODERN_VERSION,
    _CAPABILITIES: _is_capabilities,
    f"{MCP_META_PREFIX}clientInfo": _is_client,
    "progressToken": _is_id,
    **dict.fromkeys(TRACE_KEYS, _is_text),
}
_LEGACY_META = frozenset({"progressToken", *TRACE_KEYS})
"""The members of `_meta` in requests of earlier protocol versions."""
_NO_PARAMS: dict[str, Any] = {}
"""Stands for an object that a request does not have. Never modify it."""
