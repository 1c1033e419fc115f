"""Which files a piece of code reads, noted as it reads them."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def record_reads(root: Path) -> Generator[set[str]]:
    """Give a set to which the path of every file below `root` is added that is read meanwhile."""
    found: set[str] = set()
    read = os.read

    def noting(descriptor: int, length: int) -> bytes:
        file = Path(f"/proc/self/fd/{descriptor}").readlink()
        if file.is_relative_to(root):
            found.add(str(file.relative_to(root)))
        return read(descriptor, length)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "read", noting)
        yield found
