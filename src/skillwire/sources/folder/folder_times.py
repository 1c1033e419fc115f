"""On which file systems the times of a folder tell that something came into it, or went.

Those that show what is kept elsewhere often make up the times of folders. There, folders are listed each
time, and only what is known of their files counts.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_HONEST = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "tmpfs", "overlay"})
"""Kept by this machine itself, and known to move the times."""


def devices_with_honest_folders() -> frozenset[int]:
    """Return the devices of such file systems. None of them, where the system does not say what they are."""
    try:
        return frozenset(_honest(_MOUNTS.read_text(errors="replace")))
    except (OSError, ValueError, IndexError):
        return frozenset()


def _honest(mounts: str) -> Iterator[int]:
    """Yield the devices in lines as of proc(5): `36 35 98:0 /mnt1 /mnt2 rw shared:1 - ext3 /dev/root rw`."""
    for line in mounts.splitlines():
        before, _, behind = line.partition(" - ")
        major, _, minor = before.split(" ")[2].partition(":")
        if behind.split(" ")[0] in _HONEST:
            yield os.makedev(int(major), int(minor))
