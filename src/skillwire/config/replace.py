"""Changing a file that other programs read and change: one writer at a time, and never half a file."""

import os
import re
import sys
from collections.abc import Container, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

if sys.platform != "win32":
    import fcntl

_FOR_OTHERS = 0o644
"""Who may read a new file. One that exists keeps what it has."""
_TEMPORARY = re.compile(r"\.(.+)\.[a-z0-9_]{8}", re.DOTALL)


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


def replace_file(path: Path, content: bytes) -> None:
    """Write `path` in one step: a reader sees the old content or the new one. Raises `OSError`."""
    mode = path.stat().st_mode & 0o777 if path.exists() else _FOR_OTHERS
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # or the new name may stand before the new content after a crash
            file.close()
            written = Path(file.name)
            written.chmod(mode)
            written.replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def left_in(folder: Path, names: Container[str]) -> Iterator[Path]:
    """Yield what writers that were ended in the middle left in `folder` of files with these names."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        found = _TEMPORARY.fullmatch(path.name)
        if found is not None and found[1] in names and path.is_file() and not path.is_symlink():
            yield path
