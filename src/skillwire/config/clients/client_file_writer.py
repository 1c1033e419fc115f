"""Replace the content of a client's file atomically, unless another program has changed it."""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from skillwire.config.clients.edit import ClientDocument
from skillwire.config.clients.files import ClientFile, ClientFileError
from skillwire.core.atomic_write import lock_folder, remove_abandoned, staged_file

_ATTEMPTS = 10
_MAX_BACKUPS = 5
BACKUP = ".skillwire-backup"
"""What follows the name of a file in the names of its copies, before a dot and a time."""

Edit = Callable[[ClientDocument], ClientDocument | None]
"""Returns the changed document, the same document for no change, or None to delete a file without values."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was done to a file."""

    document: ClientDocument | None
    """The document that was written; None if nothing was changed."""
    created: bool = False
    backup: Path | None = None
    """The copy of the content before the change."""


def target_of(file: ClientFile) -> Path:
    """Return the path of the file, or what it links to. Raises `ClientFileError` if it cannot be written."""
    path = file.path
    try:
        for each in (path, *path.parents):
            if each.is_symlink() and not each.exists():
                raise ClientFileError(
                    f"`{each}` is a link to nowhere", hint="remove the link, or create its target"
                )
        target = path.resolve()
        if file.project is not None and not target.is_relative_to(file.project.resolve()):
            raise ClientFileError(
                f"it leads out of the project, to `{target}`", hint="replace the link with a file"
            )
        if target.exists() and not target.is_file():
            raise ClientFileError("it is not a file", hint="move it away")
        if target.exists() and not os.access(target, os.W_OK):
            raise ClientFileError("it is read-only", hint="allow writing to it, or use `--print`")
    except (OSError, RuntimeError) as error:
        raise ClientFileError(f"it cannot be read: {error}") from error
    return target


def read_document(file: ClientFile) -> ClientDocument:
    """Return the content of the file, empty if it does not exist. Raises `ClientFileError`."""
    content = _bytes(file, target_of(file))
    return ClientDocument.read(file, content or b"")


def write_document(file: ClientFile, edit: Edit) -> Written:
    """Change the file. Raises `ClientFileError`.

    If another program changes the file at the same time, the edit is repeated on the new content. The file
    keeps its mode. If the path is a link, the file that it points to is changed.
    """
    target = target_of(file)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with lock_folder(target.parent):
            remove_abandoned(target.parent, {target.name}, seconds=0)  # no one else is writing
            for _ in range(_ATTEMPTS):
                if (written := _attempt(file, target, edit)) is not None:
                    return written
    except OSError as error:
        raise ClientFileError(f"it cannot be written: {error.strerror or error}") from error
    raise ClientFileError("another program keeps changing it", hint="close the client, and try again")


def _attempt(file: ClientFile, target: Path, edit: Edit) -> Written | None:
    """Try to change the file. Return None if another program changed it at the same time."""
    content = _bytes(file, target)
    before = ClientDocument.read(file, content or b"")
    after = edit(before)
    if after is not None and after.content == before.content:
        return Written(None)
    if after is None:
        return _delete(file, target, content)
    is_private = content is None and not file.in_project
    with staged_file(target, after.content, private=is_private) as staged:
        if _bytes(file, target) != content:
            return None
        backup = None if content is None else _back_up(target, content)
        if _bytes(file, target) != content:
            if backup is not None:
                backup.unlink()
            return None
        staged.replace(target)
    return Written(after, content is None, backup)


def _delete(file: ClientFile, target: Path, content: bytes | None) -> Written | None:
    if content is None:
        return Written(None)
    if _bytes(file, target) != content:
        return None
    target.unlink()
    return Written(ClientDocument(file, b""))


def _bytes(file: ClientFile, target: Path) -> bytes | None:
    return ClientFile(target, file.project, file.format).read_bytes() if target.exists() else None


def backups_of(target: Path) -> list[Path]:
    """Return the copies of earlier contents that are beside a file, oldest first."""
    start = f"{target.name}{BACKUP}."
    try:
        return sorted(
            each for each in target.parent.iterdir() if each.name.startswith(start) and each.is_file()
        )
    except OSError:
        return []


def _back_up(target: Path, content: bytes) -> Path:
    """Write a copy beside the file, with the same mode, and delete the oldest copies."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    backup = target.with_name(f"{target.name}{BACKUP}.{stamp}")
    with staged_file(backup, content, private=True) as staged:
        staged.chmod(target.stat().st_mode & 0o777)
        staged.replace(backup)
    for old in backups_of(target)[:-_MAX_BACKUPS]:
        with suppress(OSError):
            old.unlink()
    return backup
