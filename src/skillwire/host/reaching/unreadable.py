"""Answers that cannot be read: whoever waits for one hears of it at once, and not when patience ends."""

import re
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

_ID = re.compile(r'"id"\s*:\s*(\d{1,15})\s*[,}]')
_CONTENT = re.compile(r'"(?:result|error)"\s*:')
_END = 100
"""Characters at the end of an answer, where some programs write its id."""


def made_readable(item: Any) -> Any:
    """Return what came from a server; in place of an answer that is no JSON, a refusal with its id.

    Whatever else a program prints means nothing, as before.
    """
    if not isinstance(item, ValidationError):
        return item
    error = item.errors(include_url=False, include_context=False)[0]
    text: object = error["input"]
    if error["type"] != "json_invalid" or not isinstance(text, str) or '"jsonrpc"' not in text:
        return item
    content = _CONTENT.search(text)
    before = _ID.findall(text[: content.start()]) if content else []
    found = before[:1] or _ID.findall(text[-_END:])[-1:]
    if content is None or not found:
        return item
    told = ErrorData(code=PARSE_ERROR, message="the answer is no JSON that can be read")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[0]), error=told))
