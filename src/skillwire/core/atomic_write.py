"""Replace files and folders in one step, and remove what killed writers left behind."""

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
"""How old something unlocked must be to count as left behind: it is made a moment before it is locked."""

_DEFAULT_MODE = 0o644
"""Who may read a new file. One that exists keeps what it has."""
_SUFFIX = ".skillwire-tmp"
_TEMPORARY = re.compile(rf"\.(.+)\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}", re.DOTALL)
_STAGING_NAME = "pulling"
MOVED_ASIDE_NAME = "old"
"""What a folder aside calls something that it is to replace. It may be the only copy, so it is kept."""


@contextmanager
def lock_folder(folder: Path) -> Generator[None]:
    """Keep other writers of this folder waiting. Where that cannot be done, the last one wins."""
    with FileLock(folder) as lock:
        lock.lock()
        yield


@contextmanager
def staged_file(
    path: Path, content: bytes, *, private: bool = False, durable: bool = True
) -> Generator[Path]:
    """Yield a temporary file beside `path` with this content, for the caller to rename. Raises `OSError`.

    It is removed afterwards if it still has its name. `private` is for no one else to read; what is not
    `durable` may be lost in a crash of the machine.
    """
    mode = 0o600 if private else path.stat().st_mode & 0o777 if path.exists() else _DEFAULT_MODE
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=_SUFFIX, delete=False) as file:
        written = Path(file.name)
        in_use = mark_in_use(written)
        try:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())  # or the new name may stand before the new content after a crash
            file.close()
            written.chmod(mode)
            yield written
        finally:
            written.unlink(missing_ok=True)
            if in_use is not None:
                in_use.release()


def replace_file(path: Path, content: bytes, *, private: bool = False, durable: bool = True) -> None:
    """Write `path` in one step: a reader sees the old content or the new. Raises `OSError`.

    The options are those of `staged_file`.
    """
    with staged_file(path, content, private=private, durable=durable) as staged:
        staged.replace(path)


def temporary_folder(folder: Path) -> Path:
    """Return a new private folder in `folder`, which `remove_abandoned` knows. Raises `OSError`."""
    return Path(mkdtemp(dir=folder, prefix=f".{_STAGING_NAME}.", suffix=_SUFFIX))


@contextmanager
def staging_folder(folder: Path, *, abandoned_seconds: float = ABANDONED_SECONDS) -> Generator[Path]:
    """Yield a new folder in `folder`, which is gone afterwards if it was not renamed. Raises `OSError`.

    It stays after an error, if it holds what was moved away. What killed writers left here so many seconds
    ago is removed first.
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
    """Remove a folder, if it is there. If this is cut short, no part keeps its name. Raises `OSError`."""
    staging = temporary_folder(folder.parent)
    with suppress(FileNotFoundError):
        folder.rename(staging / "removed")
    shutil.rmtree(staging, ignore_errors=True)


def remove_abandoned(
    folder: Path, names: Container[str] | None = None, *, seconds: float = ABANDONED_SECONDS
) -> None:
    """Remove what killed writers left in `folder`: of files with these names, or of all."""
    with suppress(OSError):
        for path in find_abandoned(folder, names, seconds=seconds):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def find_abandoned(
    folder: Path, names: Container[str] | None = None, *, seconds: float = ABANDONED_SECONDS
) -> Iterator[Path]:
    """Yield what writers that were killed so many seconds ago left in `folder`.

    A folder that holds something that was moved away is not among it.
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
    except OSError:  # somebody else was faster
        return 0.0
