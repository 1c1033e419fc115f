"""Tell local file systems from those that may wait for another machine or program."""

import os
import sys
from pathlib import Path

_TABLE = Path("/proc/self/mountinfo")
_LOCAL = frozenset(
    {
        *("ext2", "ext3", "ext4", "xfs", "btrfs", "bcachefs", "f2fs", "zfs", "jfs", "reiserfs", "nilfs2"),
        *("tmpfs", "ramfs", "devtmpfs", "overlay", "aufs", "squashfs", "erofs", "cramfs", "iso9660", "udf"),
        *("vfat", "msdos", "exfat", "ntfs3", "hfs", "hfsplus", "apfs"),
    }
)
"""Types of file systems on a disk of this machine or in its memory.

All others count as remote, such as `nfs`, `cifs`, `9p`, `virtiofs` and everything in user space (`fuse`).
"""
_VIRTUAL = frozenset(
    {
        *("proc", "sysfs", "devpts", "mqueue", "cgroup", "cgroup2", "securityfs", "debugfs", "tracefs"),
        *("pstore", "bpf", "configfs", "hugetlbfs", "efivarfs", "selinuxfs", "fusectl", "binfmt_misc"),
        *("rpc_pipefs", "nsfs", "autofs"),
    }
)
"""Types of file systems of the kernel itself, which have no skills."""
_BEFORE_TYPE = " - "


def is_local(root: str, *, everywhere: bool = False) -> bool:
    """Return whether the folder `root` and all folders below it are on local file systems.

    With `everywhere`, also check all other file systems, because links may lead there. The answer is from the
    kernel's table of mounts. On systems other than Linux, which have no such table, it is always True.
    """
    if sys.platform != "linux":
        return True
    try:
        return is_local_in(_TABLE.read_bytes(), os.path.realpath(root), everywhere=everywhere)
    except (OSError, ValueError):  # without a readable table, nothing is known to be local
        return False


def is_local_in(table: bytes, root: str, *, everywhere: bool = False) -> bool:
    """Return what `is_local` returns for a table of mounts and a root without links. Raises `ValueError`."""
    mounted = dict(map(_mount, os.fsdecode(table).splitlines()))  # at one folder, the last counts
    own = max((at for at in mounted if _is_inside(root, at)), key=len, default=None)
    if own is None:
        raise ValueError("no mount contains the folder")
    kinds = {kind for at, kind in mounted.items() if at == own or _is_inside(at, root)}
    if everywhere:
        kinds |= {kind for kind in mounted.values() if kind not in _VIRTUAL}
    return kinds <= _LOCAL


def _mount(line: str) -> tuple[str, str]:
    """Return the folder and the type of a mount from its line in the table. Raises `ValueError`."""
    before, separator, after = line.partition(_BEFORE_TYPE)
    fields = before.split(" ")
    if not separator or len(fields) < 5:  # the fifth field is the folder
        raise ValueError(f"not the line of a mount: {line}")
    return _unescape(fields[4]), after.partition(" ")[0]


def _unescape(field: str) -> str:
    """Replace the escapes for white space and backslashes: three octal digits."""
    head, *parts = field.split("\\")
    return head + "".join(chr(int(part[:3], 8)) + part[3:] for part in parts)


def _is_inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
