"""The configuration file: read as it is, written back with everything that it held."""

import tomllib
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import tomlkit
from platformdirs import user_config_path
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from skillwire.catalog.visibility import Override
from skillwire.config.replace import one_at_a_time, replace_file
from skillwire.model.display import quoted
from skillwire.model.errors import UsageError

VISIBILITY = "visibility"
_SIDES = ("assistant", "user")


def default_config() -> Path:
    """Return where the configuration is, unless somebody says otherwise."""
    return user_config_path("skillwire", appauthor=False) / "config.toml"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file. That it does not exist means that nothing is configured."""

    path: Path

    def overrides(self) -> dict[str, Override]:
        """Return what the operator decided about the visibility of skills, by URI. Raises `UsageError`."""
        return self._overrides(self._text())

    def decide(self, uri: str, sides: Mapping[str, bool | None]) -> Override:
        """Write what is decided of one skill, and return all that is decided of it. Raises `UsageError`.

        `sides` has `assistant`, `user` or both; None leaves that side to the frontmatter.
        """
        try:
            target = self.path.resolve()  # of a link, the file: a folder of dotfiles stays linked
            target.parent.mkdir(parents=True, exist_ok=True)
            with one_at_a_time(target.parent):
                text = self._text()
                if (changed := self._changed(text, uri, sides)) != text:
                    replace_file(target, changed.encode())
                return self._overrides(changed).get(uri, Override())
        except OSError as error:
            raise UsageError(
                f"the configuration file `{self.path}` cannot be written: {error.strerror or error}",
                hint="choose another with `--config FILE`",
            ) from error

    def _changed(self, text: str, uri: str, sides: Mapping[str, bool | None]) -> str:
        """Return the file with these decisions in it, and everything else as it was."""
        self._overrides(text)  # what cannot be read must not be written over
        try:
            document = tomlkit.parse(text)
            section = _table(document, VISIBILITY)
            entry = _table(section, uri)
            for side, value in sides.items():
                if value is not None:
                    entry[side] = value
                else:
                    entry.pop(side, None)
            for table, key in ((section, uri), (document, VISIBILITY)):
                if not table[key]:
                    del table[key]
            return tomlkit.dumps(document)
        except TOMLKitError as error:
            raise self._broken(str(error)) from error

    def _overrides(self, text: str) -> dict[str, Override]:
        try:
            section = tomllib.loads(text).get(VISIBILITY, {})
        except tomllib.TOMLDecodeError as error:
            raise self._broken(str(error)) from error
        if not isinstance(section, Mapping):
            raise self._broken(f"`{VISIBILITY}` is not a table")
        found = cast("Mapping[str, object]", section)
        return {uri: self._override(uri, entry) for uri, entry in found.items()}

    def _override(self, uri: str, entry: object) -> Override:
        if not isinstance(entry, Mapping):
            raise self._broken(f"the visibility of {quoted(uri)} is not a table")
        values = cast("Mapping[str, object]", entry)
        for side in _SIDES:
            if not isinstance(values.get(side), (bool, type(None))):
                raise self._broken(f"`{side}` of {quoted(uri)} is not true or false")
        return Override(*(cast("bool | None", values.get(side)) for side in _SIDES))

    def _text(self) -> str:
        try:
            return self.path.read_bytes().decode()
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError as error:
            raise self._broken("it is not UTF-8") from error
        except OSError as error:
            raise self._broken(error.strerror or str(error)) from error

    def _broken(self, reason: str) -> UsageError:
        return UsageError(
            f"the configuration file `{self.path}` cannot be used: {reason}",
            hint="mend it, or name another with `--config FILE`; to serve without one, add `--no-config`",
        )


def _table(parent: MutableMapping[str, Any], key: str) -> MutableMapping[str, Any]:
    """Return the table at `key`, made if there is none: an inline one where nothing else can stand."""
    if key not in parent:
        parent[key] = tomlkit.inline_table() if isinstance(parent, InlineTable) else tomlkit.table()
    return parent[key]
