"""The keyring of the operating system, if there is one. The package `keyring` is an optional dependency."""

import importlib
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_SERVICE = "skillwire"
_RECOMMENDED = 1
"""The priority from which `keyring` itself recommends a backend.

Backends that always fail, forget everything or write plain files have less.
"""
_TIMEOUT = 30.0
"""Seconds for a keyring to answer. It may wait for a person to unlock it."""


class KeyringError(Exception):
    """The keyring failed, or did not answer in time."""


def system_keyring() -> "SystemKeyring | None":
    """Return the system keyring; None if there is none that protects secrets."""
    try:
        keyring: Any = importlib.import_module("keyring")
        backend: Any = _bounded(keyring.get_keyring)
    except (ImportError, KeyringError):
        return None
    for each in (*getattr(backend, "backends", ()), backend):  # a chain of backends has parts
        if not hasattr(each, "backends") and _protects(each):
            return SystemKeyring(each)
    return None


def _protects(backend: Any) -> bool:
    if type(backend).__module__.startswith("keyrings.alt"):
        return False
    try:
        return float(backend.priority) >= _RECOMMENDED
    except Exception:  # noqa: BLE001 - a backend that does not work here raises anything
        return False


class SystemKeyring:
    """Secrets by name. Every call may take as long as a person needs to unlock the keyring."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def get(self, name: str) -> str | None:
        """Return a secret; None if there is none. Raises `KeyringError`."""
        found = _bounded(lambda: self._backend.get_password(_SERVICE, name))
        return found if isinstance(found, str) else None

    def put(self, name: str, secret: str) -> bool:
        """Store a secret; return whether it can be read back. Some keyrings take short ones only."""
        try:
            _bounded(lambda: self._backend.set_password(_SERVICE, name, secret))
            if self.get(name) == secret:
                return True
            self.remove(name)
        except KeyringError:
            pass
        return False

    def remove(self, name: str) -> None:
        """Remove a secret, if it is there. Raises `KeyringError` if it may still be."""
        if self.get(name) is not None:
            _bounded(lambda: self._backend.delete_password(_SERVICE, name))


def _bounded(call: Callable[[], Any]) -> Any:
    """Return what a call of a backend returns. Raises `KeyringError` if it fails or takes too long.

    The call runs in a daemon thread, so a backend that hangs does not keep the process from ending.
    """
    answers: list[Any] = []

    def run() -> None:
        with suppress(Exception):  # backends raise anything
            answers.append(call())

    thread = threading.Thread(target=run, name="keyring", daemon=True)
    thread.start()
    thread.join(_TIMEOUT)
    if not answers:
        raise KeyringError("it did not answer in time" if thread.is_alive() else "it failed")
    return answers[0]
