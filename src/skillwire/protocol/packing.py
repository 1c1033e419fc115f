"""Pack a skill into one archive. The same files always give the same bytes, on every machine.

For this reason, nothing is compressed. Different releases of zlib and its alternatives compress differently,
and an approved digest must stay valid after an upgrade.
"""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from tarfile import BLOCKSIZE, NUL, PAX_FORMAT, TarInfo

from skillwire.protocol.delivery import ArchiveFormat

_PLAIN, _EXECUTABLE = 0o644, 0o755
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip file can represent."""
_UNIX = 3
_GZIP_HEADER = bytes([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255])
"""A gzip header without name, time, compression level and operating system."""
_STORED = struct.Struct("<BHH")
_MAX_STORED_BLOCK = 0xFFFF


@dataclass(frozen=True, slots=True)
class _Item:
    path: str
    content: bytes
    mode: int


def pack(files: Mapping[str, bytes], form: ArchiveFormat, executable: Collection[str] = ()) -> bytes:
    """Return an archive of `files`, which maps each path relative to the skill's folder to the content.

    `SKILL.md` is at the root. The files in `executable` are marked as executable.
    """
    items = [
        _Item(path, files[path], _EXECUTABLE if path in executable else _PLAIN) for path in sorted(files)
    ]
    return _PACKERS[form](items)


def pack_skill(files: Mapping[str, bytes], form: ArchiveFormat, executable: Collection[str] = ()) -> bytes:
    """Return an archive of a skill.

    Files in `executable`, and files that begin with `#!`, are marked as executable.
    """
    scripts = {path for path in files if files[path].startswith(b"#!")}
    return pack(files, form, executable=scripts.union(executable))


def choose_archive_format(paths: Iterable[str]) -> ArchiveFormat:
    """Return tar.gz if all paths fit into plain tar headers, else zip.

    Programs that know only plain headers would unpack a longer path under a different name.
    """
    fits = all(_ustar_header(TarInfo(path)) is not None for path in paths)
    return ArchiveFormat.TAR_GZ if fits else ArchiveFormat.ZIP


def _zip(items: Iterable[_Item]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for item in items:
            info = zipfile.ZipInfo(item.path, _ZIP_EPOCH)
            info.create_system = _UNIX  # the default is the current system
            info.external_attr = (stat.S_IFREG | item.mode) << 16
            archive.writestr(info, item.content)
    return packed.getvalue()


def _tar_gz(items: Iterable[_Item]) -> bytes:
    blocks: list[bytes] = []
    for item in items:
        info = TarInfo(item.path)  # without owner and time
        info.size, info.mode = len(item.content), item.mode
        padding = NUL * (-len(item.content) % BLOCKSIZE)
        blocks += _tar_header(info), item.content, padding
    return _gzip(b"".join([*blocks, NUL * BLOCKSIZE * 2]))


def _tar_header(info: TarInfo) -> bytes:
    """Return the header of a file. A path that is long or not ASCII is written twice.

    For such a path, POSIX requires a pax header. Programs that skip the pax header find the same path in the
    plain header after it.
    """
    header = info.tobuf(PAX_FORMAT, "utf-8", "strict")
    plain = None if len(header) == BLOCKSIZE else _ustar_header(info)
    return header if plain is None else header[:-BLOCKSIZE] + plain


def _ustar_header(info: TarInfo) -> bytes | None:
    """Return the plain header in UTF-8, or None if the path does not fit into it."""
    try:
        return info.create_ustar_header(info.get_info(), "utf-8", "strict")
    except ValueError:
        return None


def _gzip(content: bytes) -> bytes:
    """Return a gzip file that stores `content` uncompressed (RFC 1951, 3.2.4; RFC 1952)."""
    pieces = [_GZIP_HEADER]
    for start in range(0, len(content), _MAX_STORED_BLOCK):
        piece = content[start : start + _MAX_STORED_BLOCK]
        last = start + _MAX_STORED_BLOCK >= len(content)
        pieces += _STORED.pack(last, len(piece), len(piece) ^ 0xFFFF), piece
    return b"".join([*pieces, struct.pack("<LL", zlib.crc32(content), len(content) & 0xFFFFFFFF)])


_PACKERS: dict[ArchiveFormat, Callable[[Iterable[_Item]], bytes]] = {
    ArchiveFormat.TAR_GZ: _tar_gz,
    ArchiveFormat.ZIP: _zip,
}
