"""Floors: the minimal work of any scan. They visit or read the same files and do nothing with them."""

import hashlib
import os
import stat
from pathlib import Path


def walk_and_stat(root: Path) -> list[str]:
    """Return every file below `root`, after a stat of each. The minimum for a scan that reads nothing."""
    files: list[str] = []
    pending = [os.fspath(root)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                is_folder = stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode)
                (pending if is_folder else files).append(entry.path)
    return files


def read_and_hash(files: list[str]) -> None:
    """Read and hash files with known paths."""
    for file in files:
        with open(file, "rb", buffering=0) as opened:  # noqa: PTH123 - the fastest way to open
            hashlib.sha256(opened.read()).hexdigest()
