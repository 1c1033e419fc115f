"""Files of MCP clients: where they are, whose they are, and what they say."""

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

# What has no end ends with the text: so each character is looked at once, whatever a file holds.
_STRING = r'"(?:\\.|[^"\\])*"?'
_COMMENT = re.compile(rf"(?P<kept>{_STRING})|//[^\r\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"(?P<kept>{_STRING})|,(?=\s*[}}\]])", re.DOTALL)
_MAX_BYTES = 64 * 1024 * 1024
"""Some clients keep everything that was ever said in the same file."""
_MAX_SHARED_BYTES = 1024 * 1024
"""Of a file that somebody else may have written."""


def parse_jsonc(text: str) -> object:
    """Return the value in `text`. Raises `ValueError`, with the line and column in `text`."""
    return json.loads(_LAST_COMMA.sub(_blank, _COMMENT.sub(_blank, text)))


def _blank(match: re.Match[str]) -> str:
    """Leave spaces where something was, so that lines and columns stay what they are."""
    return match["kept"] or re.sub(r"[^\r\n]", " ", match[0])


class ClientFileError(SkillwireError):
    """Why nothing can be known of a file. The other files can be read."""


class Format(Enum):
    """How a file is written. JSON may have comments everywhere: some of the clients allow them."""

    JSON = "JSON"
    TOML = "TOML"
    YAML = "YAML"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client looks for servers."""

    path: Path
    project: Path | None = None
    """The folder of the repository that the file is part of; None for a file of the person's own."""
    format: Format = Format.JSON

    @property
    def in_repository(self) -> bool:
        """Whether somebody else may have written it."""
        return self.project is not None

    def exists(self) -> bool:
        try:
            return self.path.is_file()  # a pipe would keep us waiting
        except OSError:
            return False

    def read(self) -> Mapping[str, object]:
        """Return what the file says. Raises `ClientFileError`."""
        try:
            limit = _MAX_SHARED_BYTES if self.in_repository else _MAX_BYTES
            with self.path.open("rb") as opened:
                content = opened.read(limit + 1)
            if len(content) > limit:
                raise ClientFileError(f"it has more than {limit:,} bytes")
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ClientFileError("it is not UTF-8") from error
        except OSError as error:
            raise ClientFileError(error.strerror or "it cannot be read") from error
        try:
            value = _PARSERS[self.format](text)
        except RecursionError as error:
            raise ClientFileError("it is nested too deeply") from error
        except (ValueError, yaml.YAMLError) as error:  # and what TOML and JSON raise is a ValueError
            raise ClientFileError(f"it is not {self.format.value}: {error}") from error
        if value is None:  # an empty YAML file
            return {}
        if not isinstance(value, dict):
            raise ClientFileError("it does not hold an object")
        return cast("Mapping[str, object]", value)


def as_object(value: object) -> Mapping[str, object]:
    """Return the fields of an object; what is none has none."""
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def _parse_json(text: str) -> object:
    return parse_jsonc(text) if text.strip() else {}


_PARSERS: Mapping[Format, Callable[[str], object]] = {
    Format.JSON: _parse_json,
    Format.TOML: tomllib.loads,
    Format.YAML: yaml.safe_load,
}


@dataclass(frozen=True, slots=True)
class ClientEnvironment:
    """The folder, the person and the machine."""

    folder: Path
    home: Path
    environment: Mapping[str, str]
    platform: str = sys.platform

    @classmethod
    def of(cls, environment: Mapping[str, str], folder: Path | None = None) -> "ClientEnvironment":
        """Return where this process runs, or where it would if it ran in `folder`."""
        home = environment.get("USERPROFILE" if sys.platform == "win32" else "HOME")
        return cls((folder or Path.cwd()).absolute(), Path(home) if home else Path.home(), environment)

    @property
    def projects(self) -> tuple[Path, ...]:
        """The folder and those above it up to the root of its repository, nearest first; else it alone."""
        above = [self.folder, *self.folder.parents]
        root = next((at for at, each in enumerate(above) if (each / ".git").exists()), 0)
        return tuple(above[: root + 1])

    @property
    def application_data(self) -> Path:
        """Where programs keep what they know of this person."""
        if self.platform == "darwin":
            return self.home / "Library/Application Support"
        if self.platform == "win32":
            return self.named("APPDATA", self.home / "AppData/Roaming")
        return self.configuration

    @property
    def configuration(self) -> Path:
        """Where programs of the command line keep what is configured."""
        return self.named("XDG_CONFIG_HOME", self.home / ".config")

    def named(self, variable: str, fallback: Path) -> Path:
        """Return the folder that a variable names, else `fallback`."""
        value = self.environment.get(variable, "").strip()
        return Path(value) if value else fallback
