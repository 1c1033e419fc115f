"""The keyring of the system, where there is one. The package `keyring` is an extra."""

import importlib
from contextlib import suppress
from typing import Any

_SERVICE = "skillwire"
_RECOMMENDED = 1
"""The priority from which `keyring` itself recommends a backend.

Those that fail, forget, or write plain files have less.
"""


def system_keyring() -> "SystemKeyring | None":
    """Return the keyring of the system; None if there is none that protects anything."""
    try:
        keyring: Any = importlib.import_module("keyring")
        backend: Any = keyring.get_keyring()
    except Exception:  # noqa: BLE001 - a backend of anybody's may raise anything
        return None
    for each in (*getattr(backend, "backends", ()), backend):  # of a chain, its parts
        if not hasattr(each, "backends") and _protects(each):
            return SystemKeyring(each)
    return None


def _protects(backend: Any) -> bool:
    if type(backend).__module__.startswith("keyrings.alt"):
        return False
    try:
        return float(backend.priority) >= _RECOMMENDED
    except Exception:  # noqa: BLE001 - it says that it cannot be used here
        return False


class SystemKeyring:
    """Secrets by name. Every call may wait for a person who unlocks the keyring."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def get(self, name: str) -> str | None:
        """Return a secret; None if it is not there, or cannot be had."""
        try:
            found = self._backend.get_password(_SERVICE, name)
        except Exception:  # noqa: BLE001 - as above
            return None
        return found if isinstance(found, str) else None

    def put(self, name: str, secret: str) -> bool:
        """Keep a secret; return whether it is there now. Some keyrings take short ones only."""
        try:
            self._backend.set_password(_SERVICE, name, secret)
        except Exception:  # noqa: BLE001 - as above
            return False
        return self.get(name) == secret

    def remove(self, name: str) -> None:
        with suppress(Exception):
            self._backend.delete_password(_SERVICE, name)
