"""Replace files and folders atomically, and remove temporary files of writers that were killed."""

import os
import re
import shutil
import time
from collections.abc import Container, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp

from skillwire.core.file_lock import FileLock, is_in_use, mark_in_use

ABANDONED_SECONDS = 5.0
"""Seconds after which an unlocked temporary file counts as abandoned.

A new file is unlocked for a short time after it is created.
"""

_DEFAULT_MODE = 0o644
"""The mode of a new file. An existing file keeps its mode."""
_SUFFIX = ".skillwire-tmp"
_TEMPORARY = re.compile(rf"\.(.+)\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}", re.DOTALL)
_STAGING_NAME = "pulling"
MOVED_ASIDE_NAME = "old"
"""The name in a staging folder for the folder that is being replaced.

The folder moved aside may be the only copy, so it is not removed.
"""


@contextmanager
def lock_folder(folder: Path) -> Generator[None]:
    """Hold an exclusive lock on this folder. On file systems without locks, the last writer wins."""
    with FileLock(folder) as lock:
        lock.lock()
        yield


@contextmanager
def staged_file(
    path: Path, content: bytes, *, private: bool = False, durable: bool = True
) -> Generator[Path]:
    """Yield a temporary file with this content beside `path`, for the caller to rename. Raises `OSError`.

    The file is removed afterwards unless it was renamed. With `private`, only the owner can read it. With
    `durable=False`, it may be lost if the machine crashes.
    """
    mode = 0o600 if private else path.stat().st_mode & 0o777 if path.exists() else _DEFAULT_MODE
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=_SUFFIX, delete=False) as file:
        written = Path(file.name)
        in_use = mark_in_use(written)
        try:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())  # else a crash may leave the new name without content
            file.close()
            written.chmod(mode)
            yield written
        finally:
            written.unlink(missing_ok=True)
            if in_use is not None:
                in_use.release()


def replace_file(path: Path, content: bytes, *, private: bool = False, durable: bool = True) -> None:
    """Write `path` atomically: a reader sees either the old or the new content. Raises `OSError`."""
    with staged_file(path, content, private=private, durable=durable) as staged:
        staged.replace(path)


def temporary_folder(folder: Path) -> Path:
    """Return a new private folder in `folder` that `remove_abandoned` recognizes. Raises `OSError`."""
    return Path(mkdtemp(dir=folder, prefix=f".{_STAGING_NAME}.", suffix=_SUFFIX))


@contextmanager
def staging_folder(folder: Path, *, abandoned_seconds: float = ABANDONED_SECONDS) -> Generator[Path]:
    """Yield a new folder inside `folder`, and remove it afterwards unless it was renamed.

    Raises `OSError`. After an error, the new folder stays if it contains something that was moved aside.
    Before it is created, temporary files that killed writers left here more than `abandoned_seconds` ago are
    removed.
    """
    remove_abandoned(folder, {_STAGING_NAME}, seconds=abandoned_seconds)
    staging = temporary_folder(folder)
    in_use = mark_in_use(staging)
    try:
        yield staging
    except BaseException:
        if not (staging / MOVED_ASIDE_NAME).exists():
            shutil.rmtree(staging, ignore_errors=True)
        raise
    else:
        shutil.rmtree(staging, ignore_errors=True)
    finally:
        if in_use is not None:
            in_use.release()


def remove_folder(folder: Path) -> None:
    """Remove a folder if it exists. It is renamed first, so that it never remains half removed.

    Raises `OSError`.
    """
    staging = temporary_folder(folder.parent)
    with suppress(FileNotFoundError):
        folder.rename(staging / "removed")
    shutil.rmtree(staging, ignore_errors=True)


def remove_abandoned(
    folder: Path, names: Container[str] | None = None, *, seconds: float = ABANDONED_SECONDS
) -> None:
    """Remove temporary files that killed writers left in `folder`.

    If `names` is set, only the temporary files for targets with these names are removed.
    """
    with suppress(OSError):
        for path in find_abandoned(folder, names, seconds=seconds):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def find_abandoned(
    folder: Path, names: Container[str] | None = None, *, seconds: float = ABANDONED_SECONDS
) -> Iterator[Path]:
    """Yield the temporary files and folders that killed writers left in `folder` more than `seconds` ago.

    Folders that contain something that was moved aside are left out.
    """
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        found = _TEMPORARY.fullmatch(path.name)
        if found is None or (names is not None and found[1] not in names) or path.is_symlink():
            continue
        if _age(path) >= seconds and not is_in_use(path) and not (path / MOVED_ASIDE_NAME).exists():
            yield path


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:  # another process removed it
        return 0.0
