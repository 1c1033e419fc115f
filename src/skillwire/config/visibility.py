"""The section `[visibility]` of the configuration: who may start a skill, as the operator decided."""

from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Any, cast

from skillwire.catalog.visibility import Override
from skillwire.config.file import ConfigFile
from skillwire.model.display import quoted

_SECTION = "visibility"
_SIDES = ("assistant", "user")

Values = MutableMapping[str, Any]


def overrides_in(file: ConfigFile) -> dict[str, Override]:
    """Return what was decided, by the URI of the skill. Raises `UsageError`."""
    return _overrides(file, file.read())


def decide(file: ConfigFile, uri: str, sides: Mapping[str, bool | None]) -> Override:
    """Write what is decided of one skill, and return all that is decided of it. Raises `UsageError`.

    `sides` has `assistant`, `user` or both; None leaves that side to the frontmatter.
    """
    import tomlkit  # noqa: PLC0415 - who only reads what was decided needs neither

    from skillwire.config.changing import table_in  # noqa: PLC0415

    def change(document: Values, make: Callable[[], Any] = tomlkit.table) -> None:
        section = table_in(document, _SECTION, make)
        entry = {**section.get(uri, {}), **sides}
        if not (left := {side: value for side, value in entry.items() if value is not None}):
            section.pop(uri, None)
        else:
            _write(table_in(section, uri, make), left)
        if not section:
            del document[_SECTION]

    def rewrite(document: Values) -> None:
        """Write the entry in one place, and not where its parts were."""
        section = document[_SECTION]
        left = {**section.pop(uri), **sides}
        section[uri] = tomlkit.inline_table()
        _write(section[uri], {side: value for side, value in left.items() if value is not None})

    inline = partial(change, make=tomlkit.inline_table)
    file.edit(change, inline, rewrite, check=lambda read: _overrides(file, read))
    return overrides_in(file).get(uri, Override())


def _write(entry: Values, values: Mapping[str, object]) -> None:
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
    if not isinstance(entry, Mapping):
        raise file.broken(f"the visibility of {quoted(uri)} is not a table")
    values = cast("Mapping[str, object]", entry)
    for side in _SIDES:
        if not isinstance(values.get(side), (bool, type(None))):
            raise file.broken(f"`{side}` of {quoted(uri)} is not true or false")
    return Override(*(cast("bool | None", values.get(side)) for side in _SIDES))
