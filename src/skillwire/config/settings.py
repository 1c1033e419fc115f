"""Settings from environment variables: options of `serve`, limits, tokens and the state folder."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skillwire.core.record import Limits
from skillwire.errors import UsageError
from skillwire.features.tools import MAX_FILE_BYTES
from skillwire.safe_text import quoted

if TYPE_CHECKING:
    from skillwire.server.http.connections import HttpLimits


_WHOLE_NUMBER = re.compile(r"0*[1-9][0-9]{0,14}", re.ASCII)

SKILLS_DIR = "SKILLS_DIR"
BRIDGES = "SKILLWIRE_BRIDGES"
"""The variable that a bridge sets for the programs that it starts.

Its value has one character for each bridge in the chain.
"""
STATE_DIR = "SKILLWIRE_STATE_DIR"
DATA_DIR = "SKILLWIRE_DATA_DIR"
MAX_FILE_SIZE_MB = ("SKILLWIRE_MAX_FILE_SIZE_MB", "MAX_FILE_SIZE_MB")
"""The current name, then an older name that is still in use."""
STATIC = ("SKILLWIRE_STATIC", "SKILLJACK_STATIC")
CATALOG = ("SKILLWIRE_CATALOG", "SKILLJACK_CATALOG")
TOOLS = ("SKILLWIRE_TOOLS", "SKILLJACK_TOOLS")
HTTP_PORT = ("SKILLWIRE_HTTP_PORT", "SKILLJACK_HTTP_PORT")
"""Variables for options of `serve`. The second name of each is from skilljack, another skill server."""
HTTP = ("SKILLJACK_HTTP",)
SKILLJACK_PORT = "3000"
"""skilljack's port if only `SKILLJACK_HTTP` is set."""
WITHOUT_EFFECT = (
    "GITHUB_ALLOWED_ORGS",
    "GITHUB_ALLOWED_USERS",
    "GITHUB_POLL_INTERVAL_MS",
    "WELL_KNOWN_ALLOWED_ORIGINS",
    "WELL_KNOWN_ALLOW_HTTP",
    "WELL_KNOWN_POLL_INTERVAL_MS",
    "WELL_KNOWN_MAX_ARTIFACT_MB",
    "WELL_KNOWN_MAX_UNPACKED_MB",
)
"""skilljack's variables that `serve` does not use. It says so if one is set."""
DEFAULT_PORT = 8765
"""The port of `--http` without a value."""
DEFAULT_ADDRESS = "default"
"""Stands for `--http` without a value.

It is not empty, because an empty value, such as from an unset variable, is an error.
"""
_LARGEST_PORT = 65535
_YES, _NO = ("true", "1", "yes"), ("false", "0", "no")
LIMITS = {
    "SKILLWIRE_MAX_SKILL_FILES": "files",
    "SKILLWIRE_MAX_SKILL_BYTES": "bytes",
    "SKILLWIRE_MAX_DEPTH": "depth",
    "SKILLWIRE_MAX_ENTRIES": "entries",
}
"""The variables that set a limit, and the limit's name."""
HTTP_LIMITS = {
    "SKILLWIRE_HTTP_CONNECTIONS": ("connections", 1),
    "SKILLWIRE_HTTP_SESSIONS": ("sessions", 1),
    "SKILLWIRE_HTTP_HEAD_SECONDS": ("head_seconds", 1),
    "SKILLWIRE_HTTP_BODY_SECONDS": ("body_seconds", 1),
    "SKILLWIRE_HTTP_WRITE_SECONDS": ("write_seconds", 1),
    "SKILLWIRE_HTTP_BUFFERED_MB": ("buffered_bytes", 1024 * 1024),
}
"""The variables that set an HTTP limit, and the limit's name and unit."""


@dataclass(frozen=True, slots=True)
class ServeChoices:
    """The settings of `serve`, from its options, else from the environment, else the defaults."""

    static: bool
    catalog: str
    tools: str
    http: str | None
    """Where to serve over HTTP: `[HOST:]PORT`, or `DEFAULT_ADDRESS` for the default port."""
    messages: tuple[str, ...]
    """A message for each variable that changed a setting."""


def serve_choices(
    environment: Mapping[str, str],
    *,
    static: bool = False,
    catalog: str | None = None,
    tools: str | None = None,
    http: str | None = None,
) -> ServeChoices:
    """Return the settings of `serve` from its options and the environment. Raises `UsageError`.

    If an option is given with a value, its variable is not read.
    """
    messages: list[str] = []

    def chosen(option: str, names: Sequence[str], values: Sequence[str], default: str) -> str:
        variable, value = _choice_from(names, environment, values) or ("", default)
        if value != default:
            messages.append(f"`{variable}` is set, which means `{option} {value}`")
        return value

    if not static and (found := _choice_from(STATIC, environment, (*_YES, *_NO))) is not None:
        static = found[1] in _YES
        if static:
            messages.append(f"`{found[0]}` is set, which means `--static`")
    catalog = catalog or chosen("--catalog", CATALOG, ("instructions", "tool-description"), "instructions")
    tools = tools or chosen("--tools", TOOLS, ("always", "auto", "never"), "always")
    if http in {None, DEFAULT_ADDRESS} and (found := _port(environment)) is not None:
        http = found[1]
        messages.append(f"`{found[0]}` is set, which means `--http {http}`")
    elif http is None and (found := _choice_from(HTTP, environment, (*_YES, *_NO))) and found[1] in _YES:
        http = SKILLJACK_PORT
        messages.append(f"`{found[0]}` is set, which means `--http {http}`")
    messages += [
        f"`{variable}` is set, but Skillwire does not use it; it fetches only the sources that you name"
        for variable in WITHOUT_EFFECT
        if environment.get(variable, "").strip()
    ]
    return ServeChoices(static, catalog, tools, http, tuple(messages))


def _first_set(names: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the first variable that is not empty and its value, or None if all are empty or not set."""
    return next(((name, text) for name in names if (text := environment.get(name, "").strip())), None)


def _choice_from(
    names: Sequence[str], environment: Mapping[str, str], values: Sequence[str]
) -> tuple[str, str] | None:
    """Return the first variable that is set and its value in lower case, or None if none is set.

    Raises `UsageError` if the value is not one of `values`.
    """
    if (found := _first_set(names, environment)) is None:
        return None
    variable, text = found
    if (value := text.lower()) not in values:
        known = ", ".join(f"`{each}`" for each in values)
        raise UsageError(
            f"the environment variable `{variable}` is {quoted(text)}",
            hint=f"set it to one of {known}, or unset it for the default",
        )
    return variable, value


def _port(environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the variable that sets the HTTP port, and the port. Return None if no variable sets it.

    Raises `UsageError` if the value is not a port.
    """
    if (found := _first_set(HTTP_PORT, environment)) is None:
        return None
    variable, text = found
    if not _WHOLE_NUMBER.fullmatch(text) or int(text) > _LARGEST_PORT:
        raise UsageError(
            f"the environment variable `{variable}` is {quoted(text)}, "
            f"which is not a port (1 to {_LARGEST_PORT})",
            hint="correct it, or unset it to serve over stdio",
        )
    return variable, str(int(text))


def limits_from(environment: Mapping[str, str], configured: Mapping[str, int] | None = None) -> Limits:
    """Return the limits. Limits in the environment override the `configured` limits. Raises `UsageError`."""
    chosen = dict(configured or {})
    chosen |= {
        limit: _whole_number(variable, environment[variable])
        for variable, limit in LIMITS.items()
        if variable in environment
    }
    return Limits(**chosen)


def http_limits_from(environment: Mapping[str, str]) -> "HttpLimits":
    """Return the HTTP limits from the environment; unset limits have their defaults. Raises `UsageError`."""
    from skillwire.server.http.connections import HttpLimits  # noqa: PLC0415 - stdio has no such limits

    chosen = {
        limit: _whole_number(variable, environment[variable]) * unit
        for variable, (limit, unit) in HTTP_LIMITS.items()
        if variable in environment
    }
    return HttpLimits(**chosen)


def state_folder_from(environment: Mapping[str, str]) -> Path:
    """Return the folder for approvals, logins and files cached from servers."""
    if chosen := environment.get(STATE_DIR):
        return Path(chosen)
    from platformdirs import user_state_path  # noqa: PLC0415 - not needed with the variable set

    return user_state_path("skillwire", appauthor=False)


def data_folder_from(environment: Mapping[str, str]) -> Path:
    """Return the folder for what users publish, such as the default registry."""
    if chosen := environment.get(DATA_DIR):
        return Path(chosen)
    from platformdirs import user_data_path  # noqa: PLC0415 - not needed with the variable set

    return user_data_path("skillwire", appauthor=False)


def max_file_bytes_from(environment: Mapping[str, str]) -> int:
    """Return the maximum size of a file that a tool may read, in bytes. Raises `UsageError`."""
    for variable in MAX_FILE_SIZE_MB:
        if (text := environment.get(variable)) is not None:
            return _whole_number(variable, text) * 1024 * 1024
    return MAX_FILE_BYTES


def _whole_number(variable: str, text: str) -> int:
    if not _WHOLE_NUMBER.fullmatch(text):
        raise UsageError(
            f"`{variable}` is {quoted(text)}, which is not a whole number above 0",
            hint="correct it, or unset it for the default",
        )
    return int(text)


def token_from(variable: str | None, environment: Mapping[str, str]) -> str | None:
    """Return the bearer token in the environment variable `variable`, or None if `variable` is None.

    Raises `UsageError` if the token is empty or not valid in a header.
    """
    if variable is None:
        return None
    token = environment.get(variable, "").strip()
    if not token:
        raise UsageError(
            f"the environment variable {quoted(variable)} is empty or not set",
            hint=f"set it with `export {variable}=…`",
        )
    check_token(token, f"the token in {quoted(variable)}")
    return token


def check_token(token: str, what: str) -> None:
    """Raise `UsageError` if a token is not valid in a header. `what` describes the token in the message."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"{what} contains characters that are not allowed in a header" if token else f"{what} is empty",
            hint="use visible ASCII characters without spaces",
        )
