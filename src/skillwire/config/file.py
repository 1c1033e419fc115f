"""The configuration file: read as it is, written back with everything that it held."""

import tomllib
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import tomlkit
from platformdirs import user_config_path
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from skillwire.config.replace import one_at_a_time, replace_file
from skillwire.model.errors import UsageError

Change = Callable[[MutableMapping[str, Any]], None]
"""What is to change: in a document, or in the values that it holds."""


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

    def edit(self, *ways: Change, check: Callable[[Mapping[str, object]], Any]) -> None:
        """Change the file, keeping everything else in it as it was. Raises `UsageError`.

        All `ways` make the same change, in other forms: the first is taken that changes nothing else.
        `check` looks at what it said before, and raises if that cannot be understood: what cannot be read
        must not be written over.
        """
        try:
            target = self.path.resolve()  # of a link, the file: a folder of dotfiles stays linked
            target.parent.mkdir(parents=True, exist_ok=True)
            with one_at_a_time(target.parent):
                text = self._text()
                check(self._parsed(text))
                if (changed := self._changed(text, ways)) != text:
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

    def _changed(self, text: str, ways: Sequence[Change]) -> str:
        wanted = _values(text)
        ways[0](wanted)
        if (meant := _plain(wanted)) == _values(text):
            return text
        whole = _ended(text)
        for way in ways:
            try:
                document = tomlkit.parse(whole)
                way(document)
                changed = tomlkit.dumps(document)
                if _values(changed) == meant:
                    return changed
            except (TOMLKitError, tomllib.TOMLDecodeError, LookupError):
                continue  # tables can be written in ways that the library cannot change
        raise UsageError(
            f"the configuration file `{self.path}` is written in a way in which this cannot be changed alone",
            hint="change it by hand, or write each of its tables once, below a `[header]`",
        )

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


def table_in(
    parent: MutableMapping[str, Any], key: str, make: Callable[[], Any] = tomlkit.table
) -> MutableMapping[str, Any]:
    """Return the table at `key`, made if there is none: an inline one where nothing else can stand."""
    if key not in parent:
        parent[key] = tomlkit.inline_table() if isinstance(parent, InlineTable) else make()
    return parent[key]


def _values(text: str) -> dict[str, Any]:
    """Return what a text says, so that it can be compared: a number that is none equals no other."""
    return tomllib.loads(text, parse_float=str)


def _plain(value: Any) -> Any:
    """Return a value without the traces of who wrote it."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list):
        return [_plain(each) for each in cast("list[Any]", value)]
    return value


def _ended(text: str) -> str:
    """Return a text whose last line has an end, so that another can follow."""
    if not text or text.endswith("\n"):
        return text
    return text + ("\r\n" if "\r\n" in text else "\n")
