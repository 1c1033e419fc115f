"""The cache folder. A separate module, because every start needs it and little else."""

from collections.abc import Mapping
from pathlib import Path

CACHE_DIR = "SKILLWIRE_CACHE_DIR"


def cache_folder_from(environment: Mapping[str, str]) -> Path:
    """Return the cache folder: `SKILLWIRE_CACHE_DIR` if it is set, else the platform's."""
    if chosen := environment.get(CACHE_DIR):
        return Path(chosen)
    from platformdirs import user_cache_path  # noqa: PLC0415 - only needed without the variable

    return user_cache_path("skillwire", appauthor=False)
