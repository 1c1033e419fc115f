"""Find the cache folder. This is a separate module, because every start of the program needs it."""

from collections.abc import Mapping
from pathlib import Path

CACHE_DIR = "SKILLWIRE_CACHE_DIR"


def cache_folder_from(environment: Mapping[str, str]) -> Path:
    """Return the cache folder: `SKILLWIRE_CACHE_DIR` if it is set, else the platform's cache folder."""
    if chosen := environment.get(CACHE_DIR):
        return Path(chosen)
    from platformdirs import user_cache_path  # noqa: PLC0415 - only needed without the variable

    return user_cache_path("skillwire", appauthor=False)
