"""Vectors in the cache folder.

A file is written once, under a name that contains the digest of its content, and never changed. A damaged
file is removed, and its vectors are computed again.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from skillwire.core.atomic_write import remove_abandoned, replace_file
from skillwire.search.semantic.embedder import MAX_DIMENSIONS

KEY_BYTES = 16
"""The size of the key of a vector."""
_HEAD = b"skillwire vectors 1\n"
_NAME = re.compile(r"[0-9a-f]{32}-[0-9a-f]{64}\.vectors")
_SIZE_BYTES = 4
_MAX_PARTS = 16
"""Number of files of one library from which they are replaced by one."""
_MAX_FILES = 256
"""Maximum number of files of vectors in the folder. The least recently used are removed first."""

Stored = Mapping[bytes, NDArray[np.int8]]


class VectorStore:
    """The files of the vectors of one model and one set of sources."""

    def __init__(self, folder: Path, named: Iterable[str]) -> None:
        """Create a store in `folder`. `named` are the key of the model, and the sources."""
        self._folder = folder
        self._key = hashlib.sha256("\n".join(named).encode(errors="replace")).hexdigest()[:32]

    def load(self) -> dict[bytes, NDArray[np.int8]]:
        """Return all stored vectors by key. Files that cannot be used are removed."""
        found: dict[bytes, NDArray[np.int8]] = {}
        for path in self._files(f"{self._key}-*.vectors"):
            try:
                content = path.read_bytes()
                found |= _parsed(content, path.stem.partition("-")[2])
                path.touch()  # the least recently used files are removed first
            except (OSError, ValueError):
                with suppress(OSError):
                    path.unlink(missing_ok=True)
        return found

    def add(self, vectors: Stored) -> bool:
        """Store more vectors. Return whether there are so many files that `replace` should be called.

        Raises `OSError`.
        """
        self._write(vectors)
        return len(self._files(f"{self._key}-*.vectors")) > _MAX_PARTS

    def replace(self, vectors: Stored) -> None:
        """Replace all files by one with these vectors. Raises `OSError`."""
        old = set(self._files(f"{self._key}-*.vectors"))
        written = self._write(vectors)
        with suppress(OSError):
            remove_abandoned(self._folder)
            for path in old - {written}:
                path.unlink(missing_ok=True)
            for path in sorted(self._files("*.vectors"), key=_modified, reverse=True)[_MAX_FILES:]:
                path.unlink(missing_ok=True)

    def _write(self, vectors: Stored) -> Path:
        content = _content(vectors)
        path = self._folder / f"{self._key}-{hashlib.sha256(content).hexdigest()}.vectors"
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, content)
        return path

    def _files(self, pattern: str) -> list[Path]:
        return sorted(path for path in self._folder.glob(pattern) if _NAME.fullmatch(path.name))


def _content(vectors: Stored) -> bytes:
    size = len(next(iter(vectors.values()), ()))
    rows = (key + vectors[key].tobytes() for key in sorted(vectors))
    return b"".join([_HEAD, size.to_bytes(_SIZE_BYTES), *rows])


def _parsed(content: bytes, digest: str) -> dict[bytes, NDArray[np.int8]]:
    """Return the vectors in the content of a file. Raises `ValueError` if it is damaged."""
    start = len(_HEAD) + _SIZE_BYTES
    size = int.from_bytes(content[len(_HEAD) : start])
    if hashlib.sha256(content).hexdigest() != digest or not content.startswith(_HEAD):
        raise ValueError("the file is damaged")
    record = KEY_BYTES + size
    if size > MAX_DIMENSIONS or (len(content) - start) % record:
        raise ValueError("the file has another size")
    rows = np.frombuffer(content, np.int8, offset=start).reshape(-1, record)
    return {row[:KEY_BYTES].tobytes(): row[KEY_BYTES:] for row in rows}


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # another process removed it
        return 0.0
