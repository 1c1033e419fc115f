"""The section `[visibility]` of the configuration: who may start a skill, as the operator decided."""

from collections.abc import Mapping
from typing import cast

from tomlkit import TOMLDocument

from skillwire.catalog.visibility import Override
from skillwire.config.file import ConfigFile, table_in
from skillwire.model.display import quoted

_SECTION = "visibility"
_SIDES = ("assistant", "user")


def overrides_in(file: ConfigFile) -> dict[str, Override]:
    """Return what was decided, by the URI of the skill. Raises `UsageError`."""
    return _overrides(file, file.read())


def decide(file: ConfigFile, uri: str, sides: Mapping[str, bool | None]) -> Override:
    """Write what is decided of one skill, and return all that is decided of it. Raises `UsageError`.

    `sides` has `assistant`, `user` or both; None leaves that side to the frontmatter.
    """

    def change(document: TOMLDocument) -> None:
        section = table_in(document, _SECTION)
        entry = table_in(section, uri)
        for side, value in sides.items():
            if value is not None:
                entry[side] = value
            else:
                entry.pop(side, None)
        for table, key in ((section, uri), (document, _SECTION)):
            if not table[key]:
                del table[key]

    file.edit(change, check=lambda read: _overrides(file, read))
    return overrides_in(file).get(uri, Override())


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
