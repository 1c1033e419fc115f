"""Files and folders that change in one step: a reader sees the old content or the new one, never half of it.

What is being written has a name that nothing else has, `.NAME.RANDOM.skillwire-tmp`, and is locked. A process
that is killed in the middle leaves it behind; the next writer removes it.
"""

import os
import re
import shutil
import sys
import time
from collections.abc import Container, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, mkdtemp

from skillwire.sources.hold import Hold, is_held

if sys.platform != "win32":
    import fcntl

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
def one_at_a_time(folder: Path) -> Generator[None]:
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
def folder_aside(folder: Path) -> Generator[Path]:
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
