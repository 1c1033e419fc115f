"""Configuration files of MCP clients: where they are, and how they are read."""

import json
import re
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import cast

import yaml

from skillwire.errors import SkillwireError

# An unterminated string or comment ends at the end of the text, so that matching takes linear time for any
# file.
_STRING = r'"(?:\\.|[^"\\])*"?'
_COMMENT = re.compile(rf"(?P<kept>{_STRING})|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"(?P<kept>{_STRING})|,(?=\s*[}}\]])", re.DOTALL)
_MAX_BYTES = 64 * 1024 * 1024
"""Maximum size in bytes of the user's own file. Some clients store their whole history in it."""
_MAX_SHARED_BYTES = 1024 * 1024
"""Maximum size in bytes of a file in a project, which someone else may have written."""


def parse_jsonc(text: str) -> object:
    """Parse JSON with comments and trailing commas. Raises `ValueError` with the line and column."""
    return json.loads(_LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, text)))


def _blank(match: re.Match[str]) -> str:
    """Replace a comment or comma with spaces, so that positions stay the same. Keep a string unchanged.

    Raises `ValueError` if a comment has no end.
    """
    if match[0].startswith("/*") and not match[0].endswith("*/", 2):
        raise json.JSONDecodeError("The comment has no end", match.string, match.start())
    return match["kept"] or re.sub(r"[^\r\n]", " ", match[0])


class ClientFileError(SkillwireError):
    """A client's file cannot be read. Other files are not affected."""


class Format(Enum):
    """The format of a file. JSON may contain comments, because some clients allow them."""

    JSON = "JSON"
    TOML = "TOML"
    YAML = "YAML"


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A file in which a client configures servers."""

    path: Path
    project: Path | None = None
    """The project folder that contains the file; None for the user's own file."""
    format: Format = Format.JSON

    @property
    def in_project(self) -> bool:
        """Whether the file belongs to a project, so that someone else may have written it."""
        return self.project is not None

    def exists(self) -> bool:
        try:
            return self.path.is_file()  # reading a named pipe would block
        except OSError:
            return False

    def read(self) -> Mapping[str, object]:
        """Return the content of the file. Raises `ClientFileError`."""
        return self.parse(self.read_bytes())

    def read_bytes(self) -> bytes:
        """Return the bytes of the file. Raises `ClientFileError`, also if there are too many."""
        try:
            limit = _MAX_SHARED_BYTES if self.in_project else _MAX_BYTES
            with self.path.open("rb") as opened:
                content = opened.read(limit + 1)
        except OSError as error:
            raise ClientFileError(error.strerror or "it cannot be read") from error
        if len(content) > limit:
            raise ClientFileError(f"it has more than {limit:,} bytes")
        return content

    def parse(self, content: bytes) -> Mapping[str, object]:
        """Return the values in the bytes of such a file. Raises `ClientFileError`."""
        try:
            value = _PARSERS[self.format](content.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ClientFileError("it is not UTF-8") from error
        except RecursionError as error:
            raise ClientFileError("it is nested too deeply") from error
        except yaml.YAMLError as error:
            raise ClientFileError(f"it is not YAML: {_without_content(error)}") from error
        except ValueError as error:  # of TOML and JSON
            raise ClientFileError(f"it is not {self.format.value}: {error}") from error
        if value is None:  # an empty YAML file
            return {}
        if not isinstance(value, dict):
            raise ClientFileError("it does not contain an object")
        return cast("Mapping[str, object]", value)


def as_object(value: object) -> Mapping[str, object]:
    """Return `value` if it is an object, else an empty object."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _without_content(error: yaml.YAMLError) -> str:
    """Return the message of an error and its place, without the text there, which may be secret."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return "its content is invalid"
    mark = error.problem_mark
    return f"{error.problem}: line {mark.line + 1} column {mark.column + 1}"


def _parse_json(text: str) -> object:
    return parse_jsonc(text) if text.strip() else {}


_PARSERS: Mapping[Format, Callable[[str], object]] = {
    Format.JSON: _parse_json,
    Format.TOML: tomllib.loads,
    Format.YAML: yaml.safe_load,
}


@dataclass(frozen=True, slots=True)
class ClientEnvironment:
    """The current folder, home directory, environment variables and platform."""

    folder: Path
    home: Path
    environment: Mapping[str, str]
    platform: str = sys.platform

    @classmethod
    def of(cls, environment: Mapping[str, str], folder: Path | None = None) -> "ClientEnvironment":
        """Return the client environment for these variables. The default `folder` is the current folder."""
        home = environment.get("USERPROFILE" if sys.platform == "win32" else "HOME")
        return cls((folder or Path.cwd()).absolute(), Path(home) if home else Path.home(), environment)

    @property
    def projects(self) -> tuple[Path, ...]:
        """The current folder and its parents up to the repository root, nearest first.

        Outside a repository, this is the current folder alone.
        """
        above = [self.folder, *self.folder.parents]
        root = next((at for at, each in enumerate(above) if (each / ".git").exists()), 0)
        return tuple(above[: root + 1])

    @property
    def application_data(self) -> Path:
        """The folder for the user's application data."""
        if self.platform == "darwin":
            return self.home / "Library/Application Support"
        if self.platform == "win32":
            return self.named("APPDATA", self.home / "AppData/Roaming")
        return self.configuration

    @property
    def configuration(self) -> Path:
        """The folder for the user's configuration files."""
        return self.named("XDG_CONFIG_HOME", self.home / ".config")

    def named(self, variable: str, fallback: Path) -> Path:
        """Return the folder that an environment variable names, else `fallback`."""
        value = self.environment.get(variable, "").strip()
        return Path(value) if value else fallback
