"""Read what a server itself reports about its skills, in its resource `skillwire://problems`."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from typing import cast

import anyio
from mcp.shared.exceptions import MCPError

from skillwire.core.json_text import JsonTooLargeError, load_bounded_json
from skillwire.errors import SkillwireError
from skillwire.features.resources import ProblemsDocument
from skillwire.safe_text import escape_invisible

_TIMEOUT = 5.0
"""Seconds to wait for the resource."""
_MAX_BYTES = 4_000_000
_MAX_VALUES = 100_000
_MAX_ENTRIES = 2000
"""Maximum number of resources among which the resource with the problems is looked for."""
MAX_SHOWN = 5
"""By default, the maximum number of problems that are shown."""
MANY_SHOWN = 1000
"""Maximum number of problems that are shown to a user who asks for all of them."""
_MAX_PATH, _MAX_MESSAGE = 200, 300
"""Maximum numbers of characters of a path and of a message."""


async def lists_own_problems(resources: AsyncGenerator[object]) -> bool:
    """Return whether one of the first entries of `resources/list` is the resource with the problems."""
    seen = 0
    with suppress(MCPError, SkillwireError), anyio.move_on_after(_TIMEOUT):
        async with aclosing(resources):
            async for entry in resources:
                if (
                    _is_object(entry)
                    and cast("Mapping[str, object]", entry).get("uri") == ProblemsDocument.uri
                ):
                    return True
                seen += 1
                if seen >= _MAX_ENTRIES:
                    break
    return False


async def read_own_problems(
    read: Callable[[str], Awaitable[bytes]], *, limit: int = MAX_SHOWN, server: str = "the server"
) -> list[str]:
    """Return the problems that a server reports, as lines to print: their number, then the first of them.

    At most `limit` problems are returned. `server` is what the first line calls the server. The text is the
    server's own, so it is escaped and cut. Returns an empty list if the server reports none, does not have
    the resource, or does not answer in time.
    """
    content = b""
    with suppress(MCPError, SkillwireError), anyio.move_on_after(_TIMEOUT):
        content = await read(ProblemsDocument.uri)
    if not content or len(content) > _MAX_BYTES:
        return []
    try:
        document = load_bounded_json(content, max_values=_MAX_VALUES)
    except (JsonTooLargeError, ValueError):
        return []
    found: object = cast("Mapping[str, object]", document).get("problems") if _is_object(document) else None
    if not isinstance(found, list):
        return []
    problems = [each for each in cast("list[object]", found) if _is_object(each)]
    if not problems:
        return []
    noun = "1 problem" if len(problems) == 1 else f"{len(problems):,} problems"
    lines = [f"{server} itself reports {noun} in `{ProblemsDocument.uri}`:"]
    lines += [f"  {_line(cast('Mapping[str, object]', each))}" for each in problems[:limit]]
    if (more := len(problems) - limit) > 0:
        lines.append(f"  and {more:,} more")
    return lines


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _line(problem: Mapping[str, object]) -> str:
    """Return one problem on one line, as far as it has the members of Skillwire's problems."""
    path, line = problem.get("path"), problem.get("line")
    message, hint = problem.get("message"), problem.get("hint")
    place = escape_invisible(path, _MAX_PATH) if isinstance(path, str) and path != "." else ""
    number = f":{line}" if type(line) is int and place and 0 < line < 10**9 else ""
    text = escape_invisible(message, _MAX_MESSAGE) if isinstance(message, str) else "no message"
    text += f"; {escape_invisible(hint, _MAX_MESSAGE)}" if isinstance(hint, str) and hint else ""
    return f"{place}{number}: {text}" if place else text
