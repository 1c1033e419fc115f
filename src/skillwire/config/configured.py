"""What the configuration says of sources: which there are, whom they may ask, how much is too much."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from skillwire.config.file import ConfigFile
from skillwire.model.display import quoted
from skillwire.model.errors import UsageError
from skillwire.model.limits import Limits

_SOURCES = "sources"
_ALLOWED_ORIGINS = "allowed-origins"
_LIMITS = "limits"
_STATIC = "static"


@dataclass(frozen=True, slots=True)
class ConfiguredSource:
    """One entry of `[[sources]]`. It holds the name of a token's variable, never a token."""

    source: str
    label: str | None = None
    prefix: str | None = None
    token_env: str | None = None

    @property
    def keys(self) -> dict[str, str]:
        """What stands in the file."""
        values = {_key(field.name): getattr(self, field.name) for field in fields(self)}
        return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Configured:
    """All that the file says of sources."""

    sources: tuple[ConfiguredSource, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    limits: Mapping[str, int] | None = None
    static: bool = False
    """Whether the set of skills stays as it is found at the start."""
    folder: Path = Path()
    """Where the file is: what it says of folders is said from there."""

    @classmethod
    def read(cls, file: ConfigFile) -> "Configured":
        """Return what the file says. Raises `UsageError`."""
        return cls.of(file, file.read())

    @classmethod
    def of(cls, file: ConfigFile, read: Mapping[str, object]) -> "Configured":
        entries = _list(file, read, _SOURCES, "`[[sources]]` tables", lambda each: isinstance(each, Mapping))
        origins = _list(file, read, _ALLOWED_ORIGINS, "strings", lambda each: isinstance(each, str))
        return cls(
            tuple(_source(file, number, entry) for number, entry in enumerate(entries, start=1)),
            tuple(origins),
            _limits(file, read.get(_LIMITS, {})),
            _static(file, read.get(_STATIC, False)),
            file.path.absolute().parent,
        )


def add_source(file: ConfigFile, source: ConfiguredSource) -> None:
    """Write a source into the file. Raises `UsageError`, also if it is there already."""
    import tomlkit  # noqa: PLC0415 - who only reads the file does not need it
    from tomlkit.items import AoT  # noqa: PLC0415

    def change(document: MutableMapping[str, Any]) -> None:
        sources: Any = document.setdefault(_SOURCES, tomlkit.aot())
        in_tables = isinstance(document[_SOURCES], AoT)  # and not in a list that somebody wrote by hand
        written = tomlkit.table() if in_tables else tomlkit.inline_table()
        for key, value in source.keys.items():
            written[key] = value
        if in_tables and sources:
            sources[-1].add(tomlkit.nl())
        sources.append(written)

    def check(read: Mapping[str, object]) -> None:
        for known in Configured.of(file, read).sources:
            if known.source == source.source or (known.label is not None and known.label == source.label):
                raise UsageError(
                    f"the configuration has {quoted(known.label or known.source)} already",
                    hint="`skillwire sources` lists them; `skillwire sources remove` takes one out",
                )

    file.edit(change, check=check)


def remove_source(file: ConfigFile, at: int) -> None:
    """Take the source at position `at` out of the file. Raises `UsageError`."""

    def change(document: MutableMapping[str, Any]) -> None:
        sources = document[_SOURCES]
        del sources[at]
        if not sources:
            del document[_SOURCES]

    file.edit(change, check=lambda read: Configured.of(file, read))


def write_allowed_origins(file: ConfigFile, origins: Sequence[str]) -> None:
    """Write whom publishers may send us to. Raises `UsageError`."""
    _write(file, _ALLOWED_ORIGINS, list(origins))


def write_static(file: ConfigFile, *, static: bool) -> None:
    """Write whether the set of skills stays as it is. Raises `UsageError`."""
    _write(file, _STATIC, static)


def _write(file: ConfigFile, key: str, value: bool | list[str]) -> None:  # noqa: FBT001 - what stands there
    def change(document: MutableMapping[str, Any]) -> None:
        if value:
            document[key] = value
        elif key in document:
            del document[key]

    file.edit(change, check=lambda read: Configured.of(file, read))


def _source(file: ConfigFile, number: int, entry: Mapping[str, object]) -> ConfiguredSource:
    values = {field.name: entry.get(_key(field.name)) for field in fields(ConfiguredSource)}
    for name, value in values.items():
        required = name == "source"
        if not (isinstance(value, str) and value) and (required or value is not None):
            raise file.broken(f"`{_key(name)}` of the source number {number} is not a text")
    return ConfiguredSource(**cast("dict[str, Any]", values))


def _list(
    file: ConfigFile, read: Mapping[str, object], key: str, of: str, fits: Callable[[object], bool]
) -> list[Any]:
    value = read.get(key, [])
    if not isinstance(value, list) or not all(map(fits, cast("list[object]", value))):
        raise file.broken(f"`{key}` is not a list of {of}")
    return cast("list[Any]", value)


def _limits(file: ConfigFile, section: object) -> dict[str, int]:
    if not isinstance(section, Mapping):
        raise file.broken(f"`{_LIMITS}` is not a table")
    known = {field.name for field in fields(Limits)}
    for name, value in cast("Mapping[str, object]", section).items():
        if name not in known:
            listed = ", ".join(f"`{each}`" for each in sorted(known))
            raise file.broken(f"there is no limit {quoted(name)}; there are {listed}")
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise file.broken(f"the limit `{name}` is not a whole number above zero")
    return dict(cast("Mapping[str, int]", section))


def _static(file: ConfigFile, value: object) -> bool:
    if not isinstance(value, bool):
        raise file.broken(f"`{_STATIC}` is not true or false")
    return value


def _key(name: str) -> str:
    return name.replace("_", "-")
