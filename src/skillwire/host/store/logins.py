"""Stored logins: one private file for each label, with tokens in the system keyring if there is one."""

import errno
import hashlib
import importlib
import json
import os
import stat
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillwire.core.atomic_write import remove_abandoned, replace_file
from skillwire.core.file_lock import FileLock
from skillwire.errors import KeyringStateError, StateError
from skillwire.host.store.folder import STATE_DIR_HINT, make_private, make_private_file
from skillwire.host.store.login_record import MAX_RECORD, BrokenRecordError, LoginRecord, Tokens
from skillwire.safe_text import escape_invisible, quoted

_SERVICE = "skillwire"
_RECOMMENDED = 1
"""The minimum priority at which `keyring` itself recommends a backend.

Backends that always fail, store nothing or write plain files have lower priorities.
"""
_TIMEOUT = 30.0
"""Seconds in which a keyring must answer. It may wait for the user to unlock it."""
LOGINS = "logins"
_OTHER_USERS_MASK = 0o077
_LOCK_TIMEOUT = 60.0
"""Seconds to wait while another process renews the tokens of a label."""


class KeyringError(Exception):
    """The keyring failed, did not answer in time, or does not exist."""


def system_keyring() -> "SystemKeyring | None":
    """Return the system keyring, or None if there is none that protects secrets."""
    try:
        keyring: Any = importlib.import_module("keyring")
        backend: Any = _bounded(keyring.get_keyring)
    except (ImportError, KeyringError):
        return None
    for each in (*getattr(backend, "backends", ()), backend):  # a chained backend contains other backends
        if not hasattr(each, "backends") and _protects(each):
            return SystemKeyring(each)
    return None


def _protects(backend: Any) -> bool:
    if type(backend).__module__.startswith("keyrings.alt"):
        return False
    try:
        return float(backend.priority) >= _RECOMMENDED
    except Exception:  # noqa: BLE001 - a backend that does not work on this system may raise anything
        return False


class SystemKeyring:
    """Secrets by name. Every call may wait until the user unlocks the keyring."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def get(self, name: str) -> str | None:
        """Return a secret, or None if there is none. Raises `KeyringError`."""
        found = _bounded(lambda: self._backend.get_password(_SERVICE, name))
        return found if isinstance(found, str) else None

    def put(self, name: str, secret: str) -> bool:
        """Store a secret, and return whether it can be read back.

        Some keyrings accept only short secrets. A secret that was stored incompletely is removed.
        """
        try:
            _bounded(lambda: self._backend.set_password(_SERVICE, name, secret))
            if self.get(name) == secret:
                return True
            self.remove(name)
        except KeyringError:
            pass
        return False

    def remove(self, name: str) -> None:
        """Remove a secret if it exists. Raises `KeyringError` if it may still exist."""
        if self.get(name) is not None:
            _bounded(lambda: self._backend.delete_password(_SERVICE, name))


def _bounded(call: Callable[[], Any]) -> Any:
    """Call a backend and return the result. Raises `KeyringError` if the call fails or takes too long.

    The call runs in a daemon thread, so that a backend that hangs does not keep the process running.
    """
    answers: list[Any] = []

    def run() -> None:
        with suppress(Exception):  # backends may raise anything
            answers.append(call())

    thread = threading.Thread(target=run, name="keyring", daemon=True)
    thread.start()
    thread.join(_TIMEOUT)
    if not answers:
        raise KeyringError("it did not answer in time" if thread.is_alive() else "it failed")
    return answers[0]


class Logins:
    """The logins in a state folder. Several processes may use it at once.

    Only `locked` is asynchronous. The other methods may wait for the disk, or until the user unlocks the
    keyring.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Use the logins in a state folder. Nothing is created before a login is saved or locked."""
        self.folder = Path(folder) / LOGINS

    def find(self, label: str, identity: str | None = None) -> LoginRecord | None:
        """Return the login for a label, or None. Tokens in the keyring are not included.

        If `identity` is given, returns None unless the login is for the server with that identity. Raises
        `StateError` if the file is damaged, or if other users could have read or written it.
        """
        path = self._path(label)
        try:
            content = _read_private(path)
            record = None if content is None else LoginRecord.from_bytes(content)
        except BrokenRecordError as error:
            raise StateError(
                f"cannot use the login in {quoted(str(path))}: {escape_invisible(str(error))}",
                hint=f"log in again with `skillwire login {label}`",
            ) from error
        if record is None or record.label != label or (identity is not None and record.identity != identity):
            return None
        return record

    def with_tokens(self, label: str, identity: str) -> LoginRecord | None:
        """Return the login for a label and server with its tokens, or None if there is none.

        The tokens are None if the keyring has lost them. Raises `StateError` in the same cases as `find`, and
        `KeyringStateError` if the keyring cannot be read.
        """
        record = self.find(label, identity)
        if record is None or not record.in_keyring:
            return record
        try:
            secret = _keyring().get(record.keyring_name)
        except KeyringError as error:
            message = (
                f"the tokens of {quoted(label)} are in the system keyring, which cannot be read: {error}"
            )
            hint = f"unlock the keyring, or log in again with `skillwire login {label}`"
            raise KeyringStateError(message, hint=hint) from error
        try:
            tokens = None if secret is None else Tokens.read(json.loads(secret))
        except (BrokenRecordError, ValueError, RecursionError):
            tokens = None
        return replace(record, tokens=tokens, renewable=record.renewable and tokens is not None)

    def save(self, record: LoginRecord) -> LoginRecord:
        """Store a login, replacing an earlier login for its label, and return it as stored.

        The tokens are stored in the keyring if possible, else in the file. Raises `StateError`.
        """
        before = self._find_readable(record.label)
        keyring = system_keyring()
        stored = replace(record, in_keyring=_put(keyring, record))
        self._write(stored)
        if before is not None and before.in_keyring and keyring is not None:
            replaced = stored.in_keyring and before.keyring_name == stored.keyring_name
            if not replaced:
                with suppress(KeyringError):  # no record refers to the tokens any more
                    keyring.remove(before.keyring_name)
        return stored

    def remove(self, label: str) -> bool:
        """Remove the login for a label, even if it is damaged. Return whether there was one.

        Raises `StateError`, or `KeyringStateError` if the file was removed but the keyring may still have the
        tokens.
        """
        before = self._find_readable(label)
        try:
            self._path(label).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unusable(self._path(label), error) from error
        if before is not None and before.in_keyring:
            self._remove_tokens(before)
        return True

    def _remove_tokens(self, record: LoginRecord) -> None:
        try:
            _keyring().remove(record.keyring_name)
        except KeyringError as error:
            name = quoted(record.keyring_name)
            raise KeyringStateError(
                f"the tokens of {quoted(record.label)} may still be in the system keyring: {error}",
                hint=f"remove the entry {name} of `skillwire` from the keyring",
            ) from error

    def remove_if_other(self, label: str, identity: str) -> None:
        """Remove the login for a label unless it is for the server with this identity.

        A damaged login is also removed. Raises the same errors as `remove`.
        """
        before = self._find_readable(label)
        if before is None or not before.is_for(identity):
            self.remove(label)

    def all(self) -> list[LoginRecord]:
        """Return all readable logins, sorted by label. Tokens in the keyring are not included."""
        found: list[LoginRecord] = []
        for path in self.folder.glob("*.json"):
            with suppress(BrokenRecordError):
                content = _read_private(path)
                record = None if content is None else LoginRecord.from_bytes(content)
                if record is not None and self._path(record.label) == path:
                    found.append(record)
        return sorted(found, key=lambda record: record.label)

    def stamp(self, label: str) -> tuple[int, ...] | None:
        """Return a value that changes whenever the login for a label changes, or None if there is none."""
        try:
            found = os.lstat(self._path(label))
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode

    @asynccontextmanager
    async def locked(self, label: str) -> AsyncGenerator[None]:
        """Lock the login for a label. Other tasks and processes wait to lock it. Raises `StateError`."""
        path = self._path(label).with_suffix(".lock")
        try:
            self._make_folder()
            make_private_file(path)
            lock = FileLock(path)
        except OSError as error:
            raise _unusable(path, error) from error
        with lock:
            if not await lock.acquire(seconds=_LOCK_TIMEOUT):
                message = f"another process has locked {quoted(str(path))} for {_LOCK_TIMEOUT:.0f} seconds"
                raise StateError(message, hint="end that process, or try again")
            yield

    def _find_readable(self, label: str) -> LoginRecord | None:
        with suppress(StateError):
            return self.find(label)
        return None

    def _write(self, record: LoginRecord) -> None:
        path = self._path(record.label)
        try:
            self._make_folder()
            remove_abandoned(self.folder)
            replace_file(path, record.to_bytes(with_tokens=not record.in_keyring), private=True)
        except OSError as error:
            raise _unusable(path, error) from error

    def _make_folder(self) -> None:
        make_private(self.folder.parent, known_by=LOGINS)
        make_private(self.folder, known_by=LOGINS)

    def _path(self, label: str) -> Path:
        # A hash, because some file systems cannot distinguish `Acme` from `acme`.
        return self.folder / f"{hashlib.sha256(label.encode()).hexdigest()[:32]}.json"


def _keyring() -> SystemKeyring:
    """Return the keyring for tokens. Raises `KeyringError`."""
    if (keyring := system_keyring()) is None:
        raise KeyringError("there is no keyring")
    return keyring


def _put(keyring: SystemKeyring | None, record: LoginRecord) -> bool:
    if keyring is None or record.tokens is None:
        return False
    return keyring.put(record.keyring_name, json.dumps(record.tokens.to_json()))


def _read_private(path: Path) -> bytes | None:
    """Return the content of a file that only this user can access, or None if there is no file.

    Raises `BrokenRecordError` for any other file.
    """
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return None
    except OSError as error:
        what = "it is a link" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise BrokenRecordError(what) from error
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise BrokenRecordError("it is not a file")
        if sys.platform != "win32" and found.st_uid != os.geteuid():
            raise BrokenRecordError("it belongs to another user")
        if sys.platform != "win32" and found.st_mode & _OTHER_USERS_MASK:
            raise BrokenRecordError("other users may read or write it")
        content = file.read(MAX_RECORD + 1)
    if len(content) > MAX_RECORD:
        raise BrokenRecordError("it is too long")
    return content


def _unusable(path: Path, error: OSError) -> StateError:
    return StateError(f"cannot use {quoted(str(path))}: {error.strerror or error}", hint=STATE_DIR_HINT)
