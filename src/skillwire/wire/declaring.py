"""How a server declares the extension, and how it did before that was settled."""

from collections.abc import Mapping
from typing import Any, cast

from skillwire.wire.messages import EXTENSION

_SETTING = "directoryRead"


def declared_settings(
    extensions: Mapping[str, Any] | None, experimental: Mapping[str, Any] | None = None
) -> Mapping[str, Any] | None:
    """Return what is declared of the extension; None if it is not (H1).

    `experimental` is where it stood before servers had `extensions`; it counts where those do not have it.
    """
    for place in (extensions, experimental):
        settings: object = (place or {}).get(EXTENSION)
        if isinstance(settings, dict):
            return cast("Mapping[str, Any]", settings)
    return None


def reads_directories(settings: Mapping[str, Any] | None, *, old_flags: bool = False) -> bool:
    """Whether the setting is exactly `true`; with `old_flags`, also where it stands in a `config` object."""
    if settings is None:
        return False
    nested: object = settings.get("config")
    if old_flags and isinstance(nested, dict):
        return settings.get(_SETTING, cast("Mapping[str, Any]", nested).get(_SETTING)) is True
    return settings.get(_SETTING) is True
