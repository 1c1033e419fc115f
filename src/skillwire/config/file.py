"""The configuration file: read as it is, written back with everything that it held."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillwire.model.errors import UsageError

if TYPE_CHECKING:
    from skillwire.config.changing import Change


def default_config() -> Path:
    """Return where the configuration is, unless somebody says otherwise."""
    from platformdirs import user_config_path  # noqa: PLC0415 - who says otherwise does not need it

    return user_config_path("skillwire", appauthor=False) / "config.toml"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file. That it does not exist means that nothing is configured."""

    path: Path

    def read(self) -> Mapping[str, object]:
        """Return everything that the file says. Raises `UsageError`."""
        text = self._text()
        return self._parsed(text) if text else {}

    def edit(self, *ways: "Change", check: Callable[[Mapping[str, object]], Any]) -> None:
        """Change the file, keeping everything else in it as it was. Raises `UsageError`.

        All `ways` make the same change, in other forms: the first is taken that changes nothing else.
        `check` looks at what it said before, and raises if that cannot be understood: what cannot be read
        must not be written over.
        """
        from skillwire.sources.replace import (  # noqa: PLC0415 - most only read
            one_at_a_time,
            remove_abandoned,
            replace_file,
        )

        try:
            target = self.path.resolve()  # of a link, the file: a folder of dotfiles stays linked
            target.parent.mkdir(parents=True, exist_ok=True)
            with one_at_a_time(target.parent):
                remove_abandoned(target.parent, {target.name}, seconds=0)  # no one else is writing
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

    def _changed(self, text: str, ways: "Sequence[Change]") -> str:
        from skillwire.config.changing import changed  # noqa: PLC0415 - as above

        if (text_after := changed(text, ways)) is not None:
            return text_after
        raise UsageError(
            f"the configuration file `{self.path}` is written in a way in which this cannot be changed alone",
            hint="change it by hand, or write each of its tables once, below a `[header]`",
        )

    def _parsed(self, text: str) -> Mapping[str, object]:
        import tomllib  # noqa: PLC0415 - who has no file needs no parser

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
