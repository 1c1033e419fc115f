"""Limits on the size of messages, requests and subscriptions, and functions that check them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

from skillwire.errors import BadParamsError
from skillwire.protocol.messages import LISTEN, TOOLS_CALL
from skillwire.safe_text import escape_invisible

MAX_ID_BYTES = 1024
"""Maximum length of a request id, a progress token or a method name, in bytes."""
MAX_PARAMETER_BYTES = 4 * 1024
"""Maximum length of a URI, name, path, cursor, or other parameter without its own limit, in bytes."""
MAX_TEXT_BYTES = 8 * 1024
"""Maximum length of text to search for or to complete, in bytes."""
MAX_CONTEXT_BYTES = 64 * 1024
"""Maximum size of all parameters of a request together, without tool arguments and subscriptions, in bytes.

This includes a client's description of itself, which is stored for the whole session. Each value counts as 64
bytes plus the lengths of its name and text.
"""
MAX_SUBSCRIPTIONS = 10_000
"""Maximum number of resources to which one client or stream can subscribe."""
MAX_SUBSCRIPTION_BYTES = 1024 * 1024
"""Maximum total length of the URIs to which one client or stream subscribes, in bytes."""
MAX_MESSAGE_VALUES = 100_000
"""Maximum number of JSON values in one message. Many small values take far more memory than one long text."""
MAX_NESTING = 240
"""Maximum nesting depth of objects and lists in one message.

JSON libraries fail slightly above this depth.
"""
NESTING_SAFE_BYTES = 2 * MAX_NESTING
"""A message of at most this length cannot be nested too deeply, because each level takes at least two bytes.
"""

_TEXTS = frozenset({"query", "search", "value"})
_IDS = frozenset({"requestId", "progressToken"})
_TOOL_PARAMETERS = frozenset(
    {"name", "skill", "path", "uri", "cursor", "label", "prefix", "source", "method", "clientId", *_TEXTS}
)
"""Arguments of Skillwire's tools whose length is limited here. All other arguments are data."""
_CLIENT_FIELDS = frozenset({"_meta", "capabilities", "clientInfo"})
"""Parameters whose strings are limited only in total. For example, an icon can be a long `data:` URI."""
_PER_VALUE = 64
"""Estimated memory for a value besides its name and text, in bytes."""
_SHOWN_NAME = 40
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""Maximum size of the body of an HTTP request, as in the SDK, and of a line on stdin, in bytes."""


def is_longer(text: str, limit: int) -> bool:
    """Return whether a text has more than `limit` bytes as UTF-8."""
    if len(text) * 4 <= limit:  # true for almost every text
        return False
    return len(text) > limit or (not text.isascii() and len(text.encode(errors="replace")) > limit)


def check_text(name: str, text: str) -> None:
    """Raise `BadParamsError` if `text`, the value of the parameter `name`, is too long."""
    limit = MAX_ID_BYTES if name in _IDS else MAX_TEXT_BYTES if name in _TEXTS else MAX_PARAMETER_BYTES
    if is_longer(text, limit):
        raise _too_long(name, limit)


def check_params(method: str, params: Mapping[str, Any]) -> None:
    """Raise `BadParamsError` if a parameter is too long, or all are together. The error names the limit."""
    left = MAX_CONTEXT_BYTES
    for name, value in params.items():
        if name == "arguments" and method == TOOLS_CALL and isinstance(value, dict):
            _check_tool_arguments(cast("dict[str, Any]", value))
            continue
        if name == "notifications" and method == LISTEN and isinstance(value, dict):
            value = _without_subscriptions(cast("dict[str, Any]", value))  # noqa: PLW2901 - counted separately
        for inner, text, size in _parts(name, value):
            if text is not None and (name not in _CLIENT_FIELDS or inner in _IDS):
                check_text(inner, text)
            left -= size
            if left < 0:
                limit = f"more than {MAX_CONTEXT_BYTES:,} bytes together"
                raise BadParamsError(f"the parameters have {limit}; send less in {_format_name(name)}")


def check_subscriptions(uris: Collection[str]) -> None:
    """Raise `BadParamsError` if a client subscribes to too many URIs, or if the URIs are too long."""
    if len(uris) > MAX_SUBSCRIPTIONS:
        raise BadParamsError(f"a client may subscribe to at most {MAX_SUBSCRIPTIONS:,} resources")
    for uri in uris:
        check_text("resourceSubscriptions", uri)
    if sum(map(_bytes, uris)) > MAX_SUBSCRIPTION_BYTES:
        raise BadParamsError(
            f"the URIs that a client subscribes to may have at most {MAX_SUBSCRIPTION_BYTES:,} bytes together"
        )


def is_nested_too_deep(message: bytes, value: object) -> bool:
    """Return whether `value`, parsed from `message`, has more than `MAX_NESTING` levels."""
    if message.count(b"{") + message.count(b"[") <= MAX_NESTING:
        return False
    level: list[object] = [value]
    depth = 0
    while level and depth <= MAX_NESTING:
        level = [inner for each in level for inner in _children(each)]
        depth += 1
    return depth > MAX_NESTING


def _check_tool_arguments(arguments: Mapping[str, Any]) -> None:
    for name, value in arguments.items():
        if name in _TOOL_PARAMETERS and isinstance(value, str):
            check_text(name, value)


def _without_subscriptions(notifications: dict[str, Any]) -> dict[str, Any]:
    """Check the URIs to which a stream subscribes, and return the other notification settings.

    A list that does not contain only strings is not checked, and stays in the result.
    """
    uris = notifications.get("resourceSubscriptions")
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in cast("list[object]", uris)):
        return notifications
    check_subscriptions(cast("list[str]", uris))
    return {name: value for name, value in notifications.items() if name != "resourceSubscriptions"}


def _parts(name: str, value: object) -> Iterator[tuple[str, str | None, int]]:
    """Yield the name, text and size of each value in a parameter. The text is None for other types."""
    pending: list[tuple[str, object]] = [(name, value)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, str):
            yield name, value, _PER_VALUE + len(name) + _bytes(value)
            continue
        yield name, None, _PER_VALUE + len(name)
        if isinstance(value, dict):
            pending.extend(cast("dict[str, object]", value).items())
        elif isinstance(value, list):
            pending.extend((name, each) for each in cast("list[object]", value))


def _children(value: object) -> Iterable[object]:
    """Return the direct children of an object or list. Other values have none."""
    if isinstance(value, dict):
        return cast("dict[str, object]", value).values()
    return cast("list[object]", value) if isinstance(value, list) else ()


def _too_long(name: str, limit: int) -> BadParamsError:
    return BadParamsError(f"the parameter {_format_name(name)} is too long: the limit is {limit:,} bytes")


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def _format_name(name: str) -> str:
    """Escape the name of a parameter for an error message, because the client chose the name."""
    return f"`{escape_invisible(name, _SHOWN_NAME)}`"
