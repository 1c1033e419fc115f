"""Write files atomically, stage and remove folders, and remove temporary files of killed writers."""

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
"""Seconds after which an unlocked temporary file or folder counts as abandoned.

It is unlocked for a short time after it is created.
"""

_DEFAULT_MODE = 0o644
"""The mode of a new file that is not private. An existing file keeps its mode unless it becomes private."""
_SUFFIX = ".skillwire-tmp"
_TEMPORARY = re.compile(rf"\.(.+)\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}", re.DOTALL)
_STAGING_NAME = "pulling"
MOVED_ASIDE_NAME = "old"
"""The name under which a folder is moved into a staging folder while it is being replaced.

After an error, this may be the only copy, so a staging folder that contains it is kept.
"""


@contextmanager
def lock_folder(folder: Path) -> Generator[None]:
    """Hold an exclusive lock on a folder inside this block. Raises `OSError`.

    On file systems without locks, the last writer wins.
    """
    with FileLock(folder) as lock:
        lock.lock()
        yield


@contextmanager
def staged_file(
    path: Path, content: bytes | bytearray, *, private: bool = False, durable: bool = True
) -> Generator[Path]:
    """Yield a temporary file with this content beside `path`, for the caller to rename. Raises `OSError`.

    The file is removed afterwards unless it was renamed. It has the mode of an existing `path`. With
    `private`, only the owner can read it. With `durable=False`, a crash of the machine may lose its content.
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


def replace_file(
    path: Path, content: bytes | bytearray, *, private: bool = False, durable: bool = True
) -> None:
    """Write `path` atomically: a reader sees either the old or the new content. Raises `OSError`.

    `private` and `durable` have the same meaning as in `staged_file`.
    """
    with staged_file(path, content, private=private, durable=durable) as staged:
        staged.replace(path)


def temporary_folder(folder: Path) -> Path:
    """Return a new private folder in `folder` that `remove_abandoned` recognizes. Raises `OSError`."""
    return Path(mkdtemp(dir=folder, prefix=f".{_STAGING_NAME}.", suffix=_SUFFIX))


@contextmanager
def staging_folder(folder: Path, *, abandoned_seconds: float = ABANDONED_SECONDS) -> Generator[Path]:
    """Yield a new folder inside `folder`, and remove it afterwards unless it was renamed.

    Raises `OSError`. After an error, the new folder stays if it contains a folder that was moved aside. Older
    staging folders are removed first if killed writers left them at least `abandoned_seconds` ago.
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
    """Remove a folder if it exists. It is renamed first, so that no one sees it half removed.

    Raises `OSError`. A file that cannot be removed stays in the renamed folder.
    """
    staging = temporary_folder(folder.parent)
    with suppress(FileNotFoundError):
        folder.rename(staging / "removed")
    shutil.rmtree(staging, ignore_errors=True)


def remove_abandoned(
    folder: Path, names: Container[str] | None = None, *, seconds: float = ABANDONED_SECONDS
) -> None:
    """Remove the temporary files and folders that `find_abandoned` yields. Ignores errors."""
    with suppress(OSError):
        for path in find_abandoned(folder, names, seconds=seconds):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def find_abandoned(
    folder: Path, names: Container[str] | None = None, *, seconds: float = ABANDONED_SECONDS
) -> Iterator[Path]:
    """Yield the temporary files and folders that killed writers left in `folder` at least `seconds` ago.

    If `names` is set, yields only temporary files for targets with these names. Leaves out staging folders
    that contain a folder that was moved aside.
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
