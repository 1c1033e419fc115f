"""The configuration file: read as it is, written back with everything that it held."""

import tomllib
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from platformdirs import user_config_path
from tomlkit import TOMLDocument
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from skillwire.config.replace import one_at_a_time, replace_file
from skillwire.model.errors import UsageError


def default_config() -> Path:
    """Return where the configuration is, unless somebody says otherwise."""
    return user_config_path("skillwire", appauthor=False) / "config.toml"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file. That it does not exist means that nothing is configured."""

    path: Path

    def read(self) -> Mapping[str, object]:
        """Return everything that the file says. Raises `UsageError`."""
        return self._parsed(self._text())

    def edit(
        self, change: Callable[[TOMLDocument], None], check: Callable[[Mapping[str, object]], Any]
    ) -> None:
        """Change the file, keeping everything else in it as it was. Raises `UsageError`.

        `check` looks at what it said before, and raises if that cannot be understood: what cannot be read
        must not be written over.
        """
        try:
            target = self.path.resolve()  # of a link, the file: a folder of dotfiles stays linked
            target.parent.mkdir(parents=True, exist_ok=True)
            with one_at_a_time(target.parent):
                text = self._text()
                check(self._parsed(text))
                if (changed := self._changed(text, change)) != text:
                    self._parsed(changed)  # what we cannot read ourselves is not written
                    replace_file(target, changed.encode())
        except OSError as error:
            raise UsageError(
                f"the configuration file `{self.path}` cannot be written: {error.strerror or error}",
                hint="choose another with `--config FILE`",
            ) from error

    def broken(self, reason: str) -> UsageError:
        """Return the error that says why the file is of no use."""
        return UsageError(
            f"the configuration file `{self.path}` cannot be used: {reason}",
            hint="mend it, or name another with `--config FILE`; to serve without one, add `--no-config`",
        )

    def _changed(self, text: str, change: Callable[[TOMLDocument], None]) -> str:
        try:
            document = tomlkit.parse(text)
            change(document)
            return tomlkit.dumps(document)
        except TOMLKitError as error:
            raise self.broken(str(error)) from error

    def _parsed(self, text: str) -> Mapping[str, object]:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise self.broken(str(error)) from error

    def _text(self) -> str:
        try:
            return self.path.read_bytes().decode()
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError as error:
            raise self.broken("it is not UTF-8") from error
        except OSError as error:
            raise self.broken(error.strerror or str(error)) from error


def table_in(parent: MutableMapping[str, Any], key: str) -> MutableMapping[str, Any]:
    """Return the table at `key`, made if there is none: an inline one where nothing else can stand."""
    if key not in parent:
        parent[key] = tomlkit.inline_table() if isinstance(parent, InlineTable) else tomlkit.table()
    return parent[key]
