"""Keyrings for `PYTHON_KEYRING_BACKEND`: one that works, one that fails and one that never answers."""

import hashlib
import os
import threading
from pathlib import Path
from typing import Any

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

FOLDER = "SKILLWIRE_TEST_KEYRING"
"""The variable with the folder in which `FolderKeyring` keeps secrets."""


def folder() -> Path:
    return Path(os.environ[FOLDER])


class FolderKeyring(KeyringBackend):
    """A working keyring: each secret is a file. It refuses long secrets, as the one of Windows does."""

    priority: Any = 5
    limit = 10_000

    def get_password(self, service: str, username: str) -> str | None:
        path = self._path(service, username)
        return path.read_text("utf-8") if path.exists() else None

    def set_password(self, service: str, username: str, password: str) -> None:
        if len(password) > self.limit:
            raise ValueError("the secret is too long")
        folder().mkdir(exist_ok=True)
        self._path(service, username).write_text(password, "utf-8")

    def delete_password(self, service: str, username: str) -> None:
        try:
            self._path(service, username).unlink()
        except FileNotFoundError as error:
            raise PasswordDeleteError from error

    def _path(self, service: str, name: str) -> Path:
        return folder() / hashlib.sha256(f"{service} {name}".encode()).hexdigest()


class LockedKeyring(FolderKeyring):
    """A keyring that no one unlocks."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked

    def delete_password(self, service: str, username: str) -> None:
        raise KeyringLocked


class HangingKeyring(LockedKeyring):
    """A keyring that waits for a person who never comes."""

    def get_password(self, service: str, username: str) -> str | None:
        threading.Event().wait()
        return None
