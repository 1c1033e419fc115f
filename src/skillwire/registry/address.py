"""`RegistryAddress`: where a registry is, and which of its channels to use."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote

from skillwire.config.settings import data_folder_from
from skillwire.core.names import NAME_RULE, is_skill_name
from skillwire.errors import InvalidValueError
from skillwire.safe_text import redact_secrets

DEFAULT = "registry:"
"""The address of the default registry, in the data folder."""
DEFAULT_FILE = "registry.db"
DEFAULT_CHANNEL = "stable"
_SQLITE = "registry+sqlite:"
_SQLITE_RULE = "is not a registry that this version can open"
_SQLITE_FIX = "write `registry:` for your own, or `registry+sqlite:///` and the path of a file"


@dataclass(frozen=True, slots=True)
class RegistryAddress:
    """A registry in an SQLite file, and a channel of it."""

    path: Path
    """The file, an absolute path."""
    channel: str = DEFAULT_CHANNEL
    is_default: bool = False
    """Whether this is the default registry, whose folder is created when it is needed."""

    def __post_init__(self) -> None:
        check_channel(self.channel)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `registry:` or `registry+sqlite:///PATH`, which may be followed by `#CHANNEL`.

        The path is absolute and percent-encoded as in any URL. Raises `InvalidValueError`, whose message
        never contains a password.
        """
        before, separator, channel = text.partition("#")
        channel = channel if separator else DEFAULT_CHANNEL
        if before.lower() == DEFAULT:
            return cls(data_folder_from(os.environ).absolute() / DEFAULT_FILE, channel, is_default=True)
        shown = redact_secrets(text)
        scheme, _, rest = before.partition(":")
        if f"{scheme.lower()}:" != _SQLITE:
            raise InvalidValueError("the address", shown, _SQLITE_RULE, _SQLITE_FIX)
        path = unquote(rest.removeprefix("//"))
        if not path.startswith("/") or not rest.startswith("///"):
            fix = f"write `{_file_address(Path(path.lstrip('/') or 'skills.db').absolute())}`"
            raise InvalidValueError("the address", shown, "does not have an absolute path", fix)
        if "\0" in path or "?" in rest or path.endswith("/"):
            fix = "write the path of a file; `%3F` stands for a question mark"
            raise InvalidValueError("the address", shown, "does not name a file", fix)
        return cls(Path(path), channel)

    def with_channel(self, channel: str | None) -> Self:
        """Return the address of another channel of the same registry; None keeps the channel."""
        return self if channel is None else type(self)(self.path, channel, self.is_default)

    @property
    def is_missing(self) -> bool:
        """Whether there is no file. False if that cannot be known, for example without permission."""
        try:
            self.path.stat()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return False

    @property
    def registry(self) -> str:
        """The address without the channel."""
        return DEFAULT if self.is_default else _file_address(self.path)

    def __str__(self) -> str:
        return self.registry if self.channel == DEFAULT_CHANNEL else f"{self.registry}#{self.channel}"


def check_channel(channel: str) -> None:
    """Raise `InvalidValueError` if `channel` cannot be the name of a channel."""
    if not is_skill_name(channel):
        raise InvalidValueError("the channel", channel, NAME_RULE)


def _file_address(path: Path) -> str:
    return f"{_SQLITE}//{quote(str(path))}"
