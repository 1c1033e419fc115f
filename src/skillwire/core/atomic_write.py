"""Replace files and folders in one step, and lock those that are in use."""

import os
import re
import shutil
import sys
import time
import weakref
from collections.abc import Callable, Container, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp

if sys.platform != "win32":
    import fcntl


class Hold:
    """Holds on to a folder until it is released or forgotten, or the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._close: Callable[[], object] = lambda: None
        if sys.platform == "win32":  # without locks: there, one process uses one cache
            return
        with suppress(OSError):  # some network file systems have no locks
            descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            self._close = weakref.finalize(self, os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)

    def release(self) -> None:
        self._close()


def is_held(folder: Path) -> bool:
    """Whether anybody holds on to a folder."""
    if sys.platform == "win32":
        return False
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no locks here
        return False
    finally:
        os.close(descriptor)
    return False


ABANDONED_SECONDS = 5.0
"""How old something unlocked must be to count as left behind: it is made a moment before it is locked."""

_FOR_OTHERS = 0o644
"""Who may read a new file. One that exists keeps what it has."""
_SUFFIX = ".skillwire-tmp"
_TEMPORARY = re.compile(rf"\.(.+)\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}", re.DOTALL)
_ASIDE = "pulling"
MOVED_AWAY = "old"
"""What a folder aside calls something that it is to replace. It may be the only copy, so it is kept."""


@contextmanager
def lock_folder(folder: Path) -> Generator[None]:
    """Keep other writers of this folder waiting. Where that cannot be done, the last one wins."""
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes, *, private: bool = False, durable: bool = True) -> None:
    """Write `path` in one step. Raises `OSError`.

    `private` is for no one else to read; what is not `durable` may be lost in a crash of the machine.
    """
    mode = 0o600 if private else path.stat().st_mode & 0o777 if path.exists() else _FOR_OTHERS
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", suffix=_SUFFIX, delete=False) as file:
        written = Path(file.name)
        held = Hold(written)
        try:
            file.write(content)
            file.flush()
            if durable:
                os.fsync(file.fileno())  # or the new name may stand before the new content after a crash
            file.close()
            written.chmod(mode)
            written.replace(path)
        except BaseException:
            written.unlink(missing_ok=True)
            raise
        finally:
            held.release()


@contextmanager
def staging_folder(folder: Path) -> Generator[Path]:
    """Yield a new folder in `folder`, which is gone afterwards. Raises `OSError`.

    It stays after an error, if it holds what was moved away.
    """
    remove_abandoned(folder, {_ASIDE})
    aside = Path(mkdtemp(dir=folder, prefix=f".{_ASIDE}.", suffix=_SUFFIX))
    held = Hold(aside)
    try:
        yield aside
    except BaseException:
        if not (aside / MOVED_AWAY).exists():
            shutil.rmtree(aside, ignore_errors=True)
        raise
    else:
        shutil.rmtree(aside, ignore_errors=True)
    finally:
        held.release()


def remove_abandoned(
    folder: Path, names: Container[str] | None = None, *, seconds: float = ABANDONED_SECONDS
) -> None:
    """Remove what killed writers left in `folder`: of files with these names, or of all."""
    with suppress(OSError):
        for path in abandoned(folder, names, seconds=seconds):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def abandoned(
    folder: Path, names: Container[str] | None = None, *, seconds: float = ABANDONED_SECONDS
) -> Iterator[Path]:
    """Yield what writers that were killed so many seconds ago left in `folder`.

    A folder that holds something that was moved away is not among it.
    """
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        found = _TEMPORARY.fullmatch(path.name)
        if found is None or (names is not None and found[1] not in names) or path.is_symlink():
            continue
        if _age(path) >= seconds and not is_held(path) and not (path / MOVED_AWAY).exists():
            yield path


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:  # somebody else was faster
        return 0.0
