"""A skill as one archive. The same files make the same bytes, on every machine, whenever it is made.

That is why nothing is compressed: each release of zlib, and each of its rivals, finds other bytes for the
same content, and a digest that was approved yesterday must hold on the machine that is upgraded today.
"""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from tarfile import BLOCKSIZE, NUL, PAX_FORMAT, TarInfo

from skillwire.wire.archive_form import ArchiveForm

_PLAIN, _EXECUTABLE = 0o644, 0o755
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip file can tell."""
_UNIX = 3
_GZIP_HEADER = bytes([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])
"""Deflated; no name, no time, no word on how well it was compressed or on which system."""
_STORED = struct.Struct("<BHH")
_STORED_AT_ONCE = 0xFFFF


@dataclass(frozen=True, slots=True)
class _Item:
    path: str
    content: bytes
    mode: int


def pack(files: Mapping[str, bytes], form: ArchiveForm, executable: Collection[str] = ()) -> bytes:
    """Return an archive of `files`, by their paths below the skill's folder: `SKILL.md` is at its root."""
    items = [
        _Item(path, files[path], _EXECUTABLE if path in executable else _PLAIN) for path in sorted(files)
    ]
    return _PACKERS[form](items)


def pack_skill(files: Mapping[str, bytes], form: ArchiveForm) -> bytes:
    """Return an archive of a skill. A file that names its interpreter in its first line can be run."""
    return pack(files, form, executable=[path for path in files if files[path].startswith(b"#!")])


def _zip(items: Iterable[_Item]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for item in items:
            info = zipfile.ZipInfo(item.path, _FIRST_DAY)
            info.create_system = _UNIX  # or it would be the system that runs this
            info.external_attr = (stat.S_IFREG | item.mode) << 16
            archive.writestr(info, item.content)
    return packed.getvalue()


def _tar_gz(items: Iterable[_Item]) -> bytes:
    blocks: list[bytes] = []
    for item in items:
        info = TarInfo(item.path)  # owned by nobody in particular, at the beginning of time
        info.size, info.mode = len(item.content), item.mode
        padding = NUL * (-len(item.content) % BLOCKSIZE)
        blocks += info.tobuf(PAX_FORMAT, "utf-8", "strict"), item.content, padding
    return _gzip(b"".join([*blocks, NUL * BLOCKSIZE * 2]))


def _gzip(content: bytes) -> bytes:
    """Return a gzip file that stores `content` as it is (RFC 1951, 3.2.4; RFC 1952)."""
    pieces = [_GZIP_HEADER]
    for start in range(0, len(content), _STORED_AT_ONCE):
        piece = content[start : start + _STORED_AT_ONCE]
        last = start + _STORED_AT_ONCE >= len(content)
        pieces += _STORED.pack(last, len(piece), len(piece) ^ 0xFFFF), piece
    return b"".join([*pieces, struct.pack("<LL", zlib.crc32(content), len(content) & 0xFFFFFFFF)])


_PACKERS: dict[ArchiveForm, Callable[[Iterable[_Item]], bytes]] = {
    ArchiveForm.TAR_GZ: _tar_gz,
    ArchiveForm.ZIP: _zip,
}
