"""What the environment says, where the command line says nothing."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from skillwire.model.display import quoted
from skillwire.model.errors import UsageError
from skillwire.model.limits import Limits
from skillwire.surfaces.tools import MAX_FILE_BYTES

if TYPE_CHECKING:
    from skillwire.server.connections import HttpLimits

_WHOLE_NUMBER = re.compile(r"0*[1-9][0-9]{0,14}", re.ASCII)

SKILLS_DIR = "SKILLS_DIR"
CACHE_DIR = "SKILLWIRE_CACHE_DIR"
BRIDGES = "SKILLWIRE_BRIDGES"
"""A mark for each bridge that led to this process. Set by bridges, for the programs that they start."""
STATE_DIR = "SKILLWIRE_STATE_DIR"
MAX_FILE_SIZE_MB = ("SKILLWIRE_MAX_FILE_SIZE_MB", "MAX_FILE_SIZE_MB")
"""The second is an older name that people have in their configuration."""
LIMITS = {
    "SKILLWIRE_MAX_SKILL_FILES": "files",
    "SKILLWIRE_MAX_SKILL_BYTES": "bytes",
    "SKILLWIRE_MAX_DEPTH": "depth",
    "SKILLWIRE_MAX_ENTRIES": "entries",
}
"""The variables that move a limit, and which one."""
HTTP_LIMITS = {
    "SKILLWIRE_HTTP_CONNECTIONS": ("connections", 1),
    "SKILLWIRE_HTTP_SESSIONS": ("sessions", 1),
    "SKILLWIRE_HTTP_HEAD_SECONDS": ("head_seconds", 1),
    "SKILLWIRE_HTTP_BODY_SECONDS": ("body_seconds", 1),
    "SKILLWIRE_HTTP_WRITE_SECONDS": ("write_seconds", 1),
    "SKILLWIRE_HTTP_BUFFERED_MB": ("buffered_bytes", 1024 * 1024),
}
"""The variables that move a limit of HTTP, which one, and the unit."""


def limits_from(environment: Mapping[str, str], configured: Mapping[str, int] | None = None) -> Limits:
    """Return the limits that the operator has chosen: the environment wins. Raises `UsageError`."""
    chosen = dict(configured or {})
    chosen |= {
        limit: _whole_number(variable, environment[variable])
        for variable, limit in LIMITS.items()
        if variable in environment
    }
    return Limits(**chosen)


def http_limits_from(environment: Mapping[str, str]) -> "HttpLimits":
    """Return the limits of HTTP that the operator has chosen. Raises `UsageError`."""
    from skillwire.server.connections import HttpLimits  # noqa: PLC0415 - stdio has no such limits

    chosen = {
        limit: _whole_number(variable, environment[variable]) * unit
        for variable, (limit, unit) in HTTP_LIMITS.items()
        if variable in environment
    }
    return HttpLimits(**chosen)


def state_folder_from(environment: Mapping[str, str]) -> Path:
    """Return where approvals, and files of other people's servers, are kept."""
    if chosen := environment.get(STATE_DIR):
        return Path(chosen)
    from platformdirs import user_state_path  # noqa: PLC0415 - who chooses a folder does not need it

    return user_state_path("skillwire", appauthor=False)


def cache_folder_from(environment: Mapping[str, str]) -> Path:
    """Return where copies of what is elsewhere, and digests, are kept."""
    if chosen := environment.get(CACHE_DIR):
        return Path(chosen)
    from platformdirs import user_cache_path  # noqa: PLC0415 - as above

    return user_cache_path("skillwire", appauthor=False)


def max_file_bytes_from(environment: Mapping[str, str]) -> int:
    """Return how large a file may be to be read through a tool. Raises `UsageError`."""
    for variable in MAX_FILE_SIZE_MB:
        if (text := environment.get(variable)) is not None:
            return _whole_number(variable, text) * 1024 * 1024
    return MAX_FILE_BYTES


def _whole_number(variable: str, text: str) -> int:
    if not _WHOLE_NUMBER.fullmatch(text):
        raise UsageError(
            f"`{variable}` is {quoted(text)}, which is not a whole number above zero",
            hint="correct it, or unset it for the default",
        )
    return int(text)


def token_from(variable: str | None, environment: Mapping[str, str]) -> str | None:
    """Return the bearer token that `variable` holds. Raises `UsageError` if it is empty or cannot be sent."""
    if variable is None:
        return None
    token = environment.get(variable, "").strip()
    if not token:
        raise UsageError(f"the variable {quoted(variable)} is empty or not set", hint=f"export {variable}=…")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"the token in {quoted(variable)} holds characters that no header can carry",
            hint="use visible ASCII characters without spaces",
        )
    return token
