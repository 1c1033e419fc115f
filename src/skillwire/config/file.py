"""Read and change the configuration file: sources, allowed origins, limits, static mode and visibility."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from skillwire.config.file_keys import VISIBILITY_SIDES, fault_of_keys
from skillwire.errors import UsageError
from skillwire.library.visibility import Override
from skillwire.safe_text import quoted

if TYPE_CHECKING:
    from skillwire.config.toml_edit import Change

_SOURCES = "sources"
_ALLOWED_ORIGINS = "allowed-origins"
_LIMITS = "limits"
_STATIC = "static"
_CATALOG = "catalog"
_PIN = "pin"
_SECTION = "visibility"


def default_config() -> Path:
    """Return the path of the user's own configuration file."""
    from platformdirs import user_config_path  # noqa: PLC0415 - not needed with `--config`

    return user_config_path("skillwire", appauthor=False) / "config.toml"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file. If it does not exist, nothing is configured."""

    path: Path

    def read(self) -> Mapping[str, object]:
        """Return the content of the file, empty if it does not exist.

        Raises `UsageError`, also for an unknown key: it may be a misspelled restriction.
        """
        text = self._text()
        return self._checked(self._parsed(text)) if text else {}

    def edit(self, *attempts: "Change", check: Callable[[Mapping[str, object]], Any]) -> None:
        """Make one change to the file, and keep all other text as written. Raises `UsageError`.

        All `attempts` make the same change in different TOML styles. The first attempt that changes nothing
        else is used. `check` is called with the content before the change. It raises `UsageError` to prevent
        the change, so that an invalid file is never overwritten. If the file does not exist, it is created.
        """
        from skillwire.core.atomic_write import lock_folder, remove_abandoned, replace_file  # noqa: PLC0415 - not needed to read

        try:
            target = self.path.resolve()  # replace the file behind a symbolic link, not the link
            target.parent.mkdir(parents=True, exist_ok=True)
            with lock_folder(target.parent):
                remove_abandoned(target.parent, {target.name}, seconds=0)  # no one else is writing
                text = self._text()
                check(self._checked(self._parsed(text)))
                if (changed := self._changed(text, attempts)) != text:
                    replace_file(target, changed.encode())
        except OSError as error:
            raise UsageError(
                f"cannot write the configuration file `{self.path}`: {error.strerror or error}",
                hint="choose another file with `--config FILE`",
            ) from error

    def broken(self, reason: str) -> UsageError:
        """Return the error for a file that cannot be used."""
        return UsageError(
            f"the configuration file `{self.path}` cannot be used: {reason}",
            hint="fix it, or choose another with `--config FILE`; to serve without one, add `--no-config`",
        )

    def _changed(self, text: str, attempts: "Sequence[Change]") -> str:
        """Return the text after the first attempt that changes nothing else. Raises `UsageError`."""
        from skillwire.config.toml_edit import changed  # noqa: PLC0415 - as above

        if (text_after := changed(text, attempts)) is not None:
            return text_after
        raise UsageError(
            f"cannot change the configuration file `{self.path}` without changing other parts of it",
            hint="edit it by hand, or write each table once, below a `[header]`",
        )

    def _checked(self, read: Mapping[str, object]) -> Mapping[str, object]:
        """Return the content of the file. Raises `UsageError` for a key that would be ignored."""
        if (fault := fault_of_keys(read)) is not None:
            raise self.broken(fault)
        return read

    def _parsed(self, text: str) -> Mapping[str, object]:
        import tomllib  # noqa: PLC0415 - not needed without a file

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


@dataclass(frozen=True, slots=True)
class ConfiguredSource:
    """One `[[sources]]` table.

    `token_env` is the name of an environment variable with a token. The token itself is not in the file.
    """

    source: str
    label: str | None = None
    prefix: str | None = None
    token_env: str | None = None

    @property
    def keys(self) -> dict[str, str]:
        """The keys and values to write to the file. Fields that are None have no key."""
        values = {_key(field.name): getattr(self, field.name) for field in fields(self)}
        return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The settings in a configuration file, except for visibility."""

    sources: tuple[ConfiguredSource, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    limits: Mapping[str, int] | None = None
    static: bool = False
    """Whether the list of skills stays the same after startup."""
    pinned: tuple[str, ...] = ()
    """Patterns for the skills that come first in the list for models."""
    folder: Path = Path()
    """The folder of the file. Relative paths in the file start there."""

    @classmethod
    def read(cls, file: ConfigFile) -> "SourceSettings":
        """Return the settings in the file. Raises `UsageError`."""
        return cls.of(file, file.read())

    @classmethod
    def of(cls, file: ConfigFile, read: Mapping[str, object]) -> "SourceSettings":
        entries = _list(file, read, _SOURCES, "`[[sources]]` tables", lambda each: isinstance(each, Mapping))
        origins = _list(file, read, _ALLOWED_ORIGINS, "strings", lambda each: isinstance(each, str))
        return cls(
            tuple(_source(file, number, entry) for number, entry in enumerate(entries, start=1)),
            tuple(origins),
            _limits(file, read.get(_LIMITS, {})),
            _static(file, read.get(_STATIC, False)),
            _pinned(file, read.get(_CATALOG, {})),
            file.path.absolute().parent,
        )


def add_source(file: ConfigFile, source: ConfiguredSource) -> None:
    """Add a source to the file. Raises `UsageError`, also if the file has this source or label already."""
    import tomlkit  # noqa: PLC0415 - not needed to read
    from tomlkit.items import AoT  # noqa: PLC0415

    def change(document: MutableMapping[str, Any]) -> None:
        sources: Any = document.setdefault(_SOURCES, tomlkit.aot())
        in_tables = isinstance(document[_SOURCES], AoT)  # else it is an inline list, written by hand
        written = tomlkit.table() if in_tables else tomlkit.inline_table()
        for key, value in source.keys.items():
            written[key] = value
        if in_tables and sources:
            sources[-1].add(tomlkit.nl())
        sources.append(written)

    def check(read: Mapping[str, object]) -> None:
        for known in SourceSettings.of(file, read).sources:
            if known.source == source.source or (known.label is not None and known.label == source.label):
                raise UsageError(
                    f"the configuration file already has {quoted(known.label or known.source)}",
                    hint="`skillwire sources` lists all sources; `skillwire sources remove` removes one",
                )

    file.edit(change, check=check)


def remove_source(file: ConfigFile, at: int) -> None:
    """Remove the source at index `at` from the file. Raises `UsageError`."""

    def change(document: MutableMapping[str, Any]) -> None:
        sources = document[_SOURCES]
        del sources[at]
        if not sources:
            del document[_SOURCES]

    file.edit(change, check=lambda read: SourceSettings.of(file, read))


def write_allowed_origins(file: ConfigFile, origins: Sequence[str]) -> None:
    """Set the further origins from which web sources may download. Raises `UsageError`."""
    _write_source(file, _ALLOWED_ORIGINS, list(origins))


def write_static(file: ConfigFile, *, static: bool) -> None:
    """Set whether the list of skills stays the same after startup. Raises `UsageError`."""
    _write_source(file, _STATIC, static)


def _write_source(file: ConfigFile, key: str, value: bool | list[str]) -> None:  # noqa: FBT001 - the value in the file
    def change(document: MutableMapping[str, Any]) -> None:
        if value:
            document[key] = value
        elif key in document:
            del document[key]

    file.edit(change, check=lambda read: SourceSettings.of(file, read))


def _source(file: ConfigFile, number: int, entry: Mapping[str, object]) -> ConfiguredSource:
    """Return the source in a `[[sources]]` table. Raises `UsageError`."""
    values = {field.name: entry.get(_key(field.name)) for field in fields(ConfiguredSource)}
    for name, value in values.items():
        required = name == "source"
        if not (isinstance(value, str) and value) and (required or value is not None):
            raise file.broken(f"`{_key(name)}` of source number {number} is not a string")
    return ConfiguredSource(**cast("dict[str, Any]", values))


def _list(
    file: ConfigFile, read: Mapping[str, object], key: str, of: str, fits: Callable[[object], bool]
) -> list[Any]:
    """Return the list at `key`, empty if it is missing. Raises `UsageError`."""
    value = read.get(key, [])
    if not isinstance(value, list) or not all(map(fits, cast("list[object]", value))):
        raise file.broken(f"`{key}` is not a list of {of}")
    return cast("list[Any]", value)


def _limits(file: ConfigFile, section: object) -> dict[str, int]:
    if not isinstance(section, Mapping):
        raise file.broken(f"`{_LIMITS}` is not a table")
    for name, value in cast("Mapping[str, object]", section).items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise file.broken(f"the limit `{name}` is not a whole number above 0")
    return dict(cast("Mapping[str, int]", section))


def _static(file: ConfigFile, value: object) -> bool:
    if not isinstance(value, bool):
        raise file.broken(f"`{_STATIC}` is not true or false")
    return value


def _pinned(file: ConfigFile, section: object) -> tuple[str, ...]:
    if not isinstance(section, Mapping):
        raise file.broken(f"`{_CATALOG}` is not a table")
    found = cast("Mapping[str, object]", section)
    return tuple(_list(file, found, _PIN, "strings", lambda each: isinstance(each, str)))


def _key(name: str) -> str:
    """Return the key in the file for the name of a field."""
    return name.replace("_", "-")


Values = MutableMapping[str, Any]


@dataclass(frozen=True, slots=True)
class FileSettings:
    """All settings in a configuration file, read at one moment."""

    sources: SourceSettings
    overrides: Mapping[str, Override]

    @classmethod
    def read(cls, file: ConfigFile) -> "FileSettings":
        """Return the settings in the file. Raises `UsageError`."""
        values = file.read()
        return cls(SourceSettings.of(file, values), _overrides(file, values))


def read_overrides(file: ConfigFile) -> dict[str, Override]:
    """Return the visibility settings in the file, by skill URI. Raises `UsageError`."""
    return _overrides(file, file.read())


def decide(file: ConfigFile, uri: str, sides: Mapping[str, bool | None]) -> Override:
    """Set the visibility of one skill in the file. Return all visibility settings of the skill.

    Raises `UsageError`. `sides` has `assistant`, `user` or both. None removes a setting, so that the
    frontmatter decides.
    """
    return decide_all(file, [uri], sides)[uri]


def decide_all(
    file: ConfigFile, uris: Sequence[str], sides: Mapping[str, bool | None]
) -> dict[str, Override]:
    """Set the visibility of several skills in one change of the file, as `decide` does for one.

    Return all visibility settings of the skills, by URI.
    """
    import tomlkit  # noqa: PLC0415 - not needed to read

    from skillwire.config.toml_edit import has_comment, table_in  # noqa: PLC0415

    def change(document: Values, make: Callable[[], Any] = tomlkit.table) -> None:
        section = table_in(document, _SECTION, make)
        for uri in uris:
            entry = {**section.get(uri, {}), **sides}
            if not (left := {side: value for side, value in entry.items() if value is not None}):
                section.pop(uri, None)
            else:
                _write_override(table_in(section, uri, make), left)
        if not section and not has_comment(section):
            del document[_SECTION]

    def rewrite(document: Values) -> None:
        """Write the skills' settings as inline tables, which replace their scattered keys."""
        section = document[_SECTION]
        for uri in uris:
            left = {**section.pop(uri, {}), **sides}
            section[uri] = tomlkit.inline_table()
            _write_override(section[uri], {side: value for side, value in left.items() if value is not None})

    inline = partial(change, make=tomlkit.inline_table)
    file.edit(change, inline, rewrite, check=lambda read: _overrides(file, read))
    after = read_overrides(file)
    return {uri: after.get(uri, Override()) for uri in uris}


def _write_override(entry: Values, values: Mapping[str, object]) -> None:
    """Replace the visibility settings of one skill in the parsed document."""
    for key in [key for key in entry if key not in values]:
        del entry[key]
    for key, value in values.items():
        if entry.get(key) != value:
            entry[key] = value


def _overrides(file: ConfigFile, read: Mapping[str, object]) -> dict[str, Override]:
    section = read.get(_SECTION, {})
    if not isinstance(section, Mapping):
        raise file.broken(f"`{_SECTION}` is not a table")
    found = cast("Mapping[str, object]", section)
    return {uri: _override(file, uri, entry) for uri, entry in found.items()}


def _override(file: ConfigFile, uri: str, entry: object) -> Override:
    """Return the visibility settings of one skill. Raises `UsageError`."""
    if not isinstance(entry, Mapping):
        raise file.broken(f"the visibility of {quoted(uri)} is not a table")
    values = cast("Mapping[str, object]", entry)
    for side in VISIBILITY_SIDES:
        if not isinstance(values.get(side), (bool, type(None))):
            raise file.broken(f"`{side}` of {quoted(uri)} is not true or false")
    return Override(*(cast("bool | None", values.get(side)) for side in VISIBILITY_SIDES))
