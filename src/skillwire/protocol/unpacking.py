"""Unpack untrusted tar.gz and zip archives in memory, within limits."""

import re
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from skillwire.protocol.archive_rules import (
    DAMAGED,
    FILE_AND_FOLDER,
    NOT_FILE_OR_FOLDER,
    SYMLINK,
    TRAILING_DATA,
    TRUNCATED,
    ArchiveBounds,
    ArchiveError,
    UnpackedFiles,
    utf8_name,
)
from skillwire.protocol.delivery import ArchiveFormat

_PIECE = 65_536
_BLOCK = 512
_MAX_HEADER = 65_536
_MAX_RECORDS = 1000
"""Maximum number of records in one header."""
_HEADERS_PER_ENTRY = 4
_FILE, _OLD_FILE, _FOLDER = b"0", b"\0", b"5"
_LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL = b"L", b"K", b"x", b"g"
_SPARSE, _SPARSE_KEY = b"S", b"GNU.sparse."
_REFUSED_TYPES = {
    b"1": "is a hard link",
    b"2": SYMLINK,
    b"3": "is a device",
    b"4": "is a device",
    b"6": "is a FIFO",
    _SPARSE: "is a sparse file",
}
_OCTAL = re.compile(rb" *([0-7]*) *(\0.*)?", re.DOTALL)
_DECIMAL = re.compile(rb"[0-9]{1,19}")
_RECORD = re.compile(rb"([1-9][0-9]{0,5}) ([^=]+)=")
_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_END_MARK, _CENTRAL_MARK, _LOCAL_MARK = b"PK\5\6", b"PK\1\2", b"PK\3\4"
_PLAIN, _DEFLATED = 0, 8
_ENCRYPTED, _HAS_DESCRIPTOR, _UTF8 = 1 << 0 | 1 << 6 | 1 << 13, 1 << 3, 1 << 11
_NO_DESCRIPTOR = frozenset({0})
_DESCRIPTOR_SIZES = frozenset({0, 12, 16, 20, 24})
"""Possible sizes of the data descriptor after a file: 32 or 64 bits, with or without a signature.

The size is 0 if there is no descriptor.
"""


class GzipReader:
    """Reads a gzip file from beginning to end. Refuses more than `limit` decompressed bytes."""

    def __init__(self, content: bytes, limit: int) -> None:
        self._packed = memoryview(content)
        self._inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._ahead = memoryview(b"")
        self._limit = self._left = limit

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes. Raises `ArchiveError` if there are fewer."""
        pieces: list[memoryview] = []
        while size:
            if not self._ahead:
                self._ahead = memoryview(self._next())
            if not self._ahead:
                raise ArchiveError(TRUNCATED)
            pieces.append(self._ahead[:size])
            self._ahead = self._ahead[size:]
            size -= len(pieces[-1])
        return b"".join(pieces)

    def finish(self) -> None:
        """Read to the end. Raises `ArchiveError` if the remaining bytes are not all zero, or are damaged."""
        rest = bytes(self._ahead) or self._next()
        while rest:
            if rest.count(0) != len(rest):
                raise ArchiveError(TRAILING_DATA)
            rest = self._next()

    def _next(self) -> bytes:
        """Return more bytes. At the end, after zlib has verified the checksum, return no bytes."""
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail
            if not packed:
                packed, self._packed = self._packed[:_PIECE], self._packed[_PIECE:]
            try:
                piece = self._inflate.decompress(packed, _PIECE)
            except zlib.error as error:
                raise ArchiveError(DAMAGED) from error
            self._left -= len(piece)
            if self._left < 0:
                raise ArchiveError(f"unpacks to more than {self._limit:,} bytes")
            if piece:
                return piece
            if not packed:
                raise ArchiveError(TRUNCATED)
        if self._inflate.unused_data or self._packed:
            raise ArchiveError(TRAILING_DATA)
        return b""


def untar(content: bytes, into: UnpackedFiles) -> None:
    """Add the files of a tar.gz archive to `into`, or raise `ArchiveError`."""
    if not content.startswith(b"\x1f\x8b"):
        raise ArchiveError("is not a tar.gz file")
    stream = GzipReader(content, into.bounds.packed)
    extended_fields: dict[bytes, bytes] = {}
    headers = 0
    while any(header := stream.take(_BLOCK)):
        if _number(header[148:156]) != sum(header) - sum(header[148:156]) + 8 * ord(" "):
            raise ArchiveError("is damaged, or is not a tar.gz file")
        kind, size = header[156:157], _number(header[124:136])
        if kind in {_LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL}:
            extended_fields |= _extended_fields(kind, size, stream)
            if (headers := headers + 1) > _HEADERS_PER_ENTRY * into.bounds.entries:
                raise ArchiveError(f"contains more than {_HEADERS_PER_ENTRY} headers for each allowed file")
            continue
        name = utf8_name(extended_fields.get(b"path") or _short_name(header))
        size = int(extended_fields.get(b"size", size))
        if any(key.startswith(_SPARSE_KEY) for key in extended_fields):
            kind = _SPARSE
        into.count()
        _add_from_tar(name, kind, (size, _mode(header[100:108])), stream, into)
        extended_fields = {}
    if extended_fields:
        raise ArchiveError(TRUNCATED)
    stream.finish()


def _add_from_tar(
    name: str, kind: bytes, size_and_mode: tuple[int, int], stream: GzipReader, into: UnpackedFiles
) -> None:
    size, mode = size_and_mode
    if kind == _FOLDER or (kind == _OLD_FILE and name.endswith("/")):
        into.add_folder(name, size)
    elif kind in {_FILE, _OLD_FILE}:
        into.add_file(name, lambda left: _take_blocks(stream, min(size, left + 1)), mode)
    else:
        raise ArchiveError(_REFUSED_TYPES.get(kind, NOT_FILE_OR_FOLDER), name)


def _extended_fields(kind: bytes, size: int, stream: GzipReader) -> dict[bytes, bytes]:
    """Return the used fields of an extended header: the path and size of the next entry, or sparse fields."""
    if size > _MAX_HEADER:
        raise ArchiveError(f"contains a header of more than {_MAX_HEADER:,} bytes")
    content = _take_blocks(stream, size)
    if kind in {_LONG_NAME, _LONG_LINK}:
        return {b"path": content.rstrip(b"\0")} if kind == _LONG_NAME else {}
    extended_fields = dict(_records(content))
    if kind == _PAX_FOR_ALL and any(map(_is_used_key, extended_fields)):
        raise ArchiveError("gives all its files the same path, size or type")
    if not _DECIMAL.fullmatch(extended_fields.get(b"size", b"0")):
        raise ArchiveError("is damaged: the size of a file is not a number")
    return {key: value for key, value in extended_fields.items() if _is_used_key(key)} if kind == _PAX else {}


def _is_used_key(key: bytes) -> bool:
    """Return whether a record with this key is used.

    Other records are not stored, because an archive may have any number of headers.
    """
    return key in {b"path", b"size"} or key.startswith(_SPARSE_KEY)


def _records(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values in a pax header.

    For example, `17 path=SKILL.md` and a line break have 17 bytes.
    """
    start = 0
    for _ in range(_MAX_RECORDS + 1):
        if start == len(content):
            return
        found = _RECORD.match(content, start)
        end = start + int(found[1]) if found else 0
        if found is None or not found.end() < end <= len(content) or content[end - 1 : end] != b"\n":
            raise ArchiveError("is damaged: a header is invalid")
        yield found[2], content[found.end() : end - 1]
        start = end
    raise ArchiveError(f"contains a header of more than {_MAX_RECORDS:,} records")


def _short_name(header: bytes) -> bytes:
    name, above = (field.partition(b"\0")[0] for field in (header[:100], header[345:500]))
    return above + b"/" + name if above and header[257:263] == b"ustar\0" else name


def _number(field: bytes) -> int:
    if field[0] & 0x80:  # too large for octal digits
        return int.from_bytes(field[1:], "big")
    if (found := _OCTAL.fullmatch(field)) is None:
        raise ArchiveError("is damaged, or is not a tar.gz file")
    return int(found[1] or b"0", 8)


def _mode(field: bytes) -> int:
    """Return the permissions of a file, or 0 if they are invalid."""
    try:
        return _number(field)
    except ArchiveError:
        return 0


def _take_blocks(stream: GzipReader, size: int) -> bytes:
    """Return the next `size` bytes, and skip the padding of their last block."""
    content = stream.take(size)
    stream.take(-size % _BLOCK)
    return content


@dataclass(frozen=True, slots=True)
class _ZipEntry:
    """An entry in the central directory of a zip file."""

    raw_name: bytes
    flags: int
    method: int
    checksum: int
    packed_size: int
    size: int
    mode: int
    offset: int

    @property
    def name(self) -> str:
        try:
            return self.raw_name.decode()  # even without the UTF-8 flag, which macOS omits
        except UnicodeDecodeError:
            return utf8_name(self.raw_name) if self.flags & _UTF8 else self.raw_name.decode("cp437")

    @property
    def fault(self) -> str | None:
        if self.flags & _ENCRYPTED:
            return "is encrypted"
        if self.method not in {_PLAIN, _DEFLATED}:
            return f"is compressed by method {self.method}; only 0 and 8 are read"
        if stat.S_ISLNK(self.mode):
            return SYMLINK
        if stat.S_ISDIR(self.mode) and not self.raw_name.endswith(b"/"):
            return FILE_AND_FOLDER
        return None if stat.S_IFMT(self.mode) in {0, stat.S_IFREG, stat.S_IFDIR} else NOT_FILE_OR_FOLDER

    def read(self, packed: memoryview, left: int) -> bytes:
        """Return the decompressed content, up to `left` + 1 bytes. Raises `ArchiveError` if damaged."""
        if self.method == _PLAIN:
            content, whole = bytes(packed[: left + 1]), True
        else:
            inflate = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
            try:
                content = inflate.decompress(packed, left + 1)
            except zlib.error as error:
                raise ArchiveError(DAMAGED, self.name) from error
            whole = inflate.eof and not inflate.unused_data
        intact = whole and len(content) == self.size and zlib.crc32(content) == self.checksum
        if not intact and len(content) <= left:
            raise ArchiveError(DAMAGED, self.name)
        return content


def unzip(content: bytes, into: UnpackedFiles) -> None:
    """Add the files of a zip archive to `into`, or raise `ArchiveError`."""
    entries, end = _read_directory(content, into)
    for entry, packed in _iter_entry_bytes(memoryview(content)[:end], entries):
        if entry.name.endswith("/"):
            into.add_folder(entry.name, entry.size)
        else:
            into.add_file(entry.name, partial(entry.read, packed), entry.mode)


def _read_directory(content: bytes, into: UnpackedFiles) -> tuple[list[_ZipEntry], int]:
    """Return a zip file's entries ordered by offset, and the offset at which its central directory begins."""
    at = content.rfind(_END_MARK)
    if at < 0 or len(content) < at + _END.size:
        raise ArchiveError(TRUNCATED if content.startswith(_LOCAL_MARK) else "is not a zip file")
    _, disk, first_disk, here, count, size, start, comment = _END.unpack_from(content, at)
    if len(content) != at + _END.size + comment:
        raise ArchiveError(TRAILING_DATA if len(content) > at + _END.size + comment else TRUNCATED)
    if disk or first_disk or here != count or start + size != at:
        raise ArchiveError("is damaged, or is a Zip64 or multi-part file, which is not supported")
    entries: list[_ZipEntry] = []
    position = start
    while position < at:
        into.count()
        entry, position = _parse_directory_entry(memoryview(content)[:at], position)
        entries.append(entry)
    if len(entries) != count:
        raise ArchiveError(DAMAGED)
    return sorted(entries, key=lambda entry: entry.offset), start


def _parse_directory_entry(content: memoryview, position: int) -> tuple[_ZipEntry, int]:
    """Return the directory entry at `position`, and the position of the next entry."""
    start = position + _CENTRAL.size
    if start > len(content):
        raise ArchiveError(DAMAGED)
    mark, _, _, flags, method, _, _, checksum, packed_size, size, *lengths, _, _, attributes, offset = (
        _CENTRAL.unpack_from(content, position)
    )
    end = start + sum(lengths)
    if mark != _CENTRAL_MARK or end > len(content):
        raise ArchiveError(DAMAGED)
    name = bytes(content[start : start + lengths[0]])
    return _ZipEntry(name, flags, method, checksum, packed_size, size, attributes >> 16, offset), end


def _iter_entry_bytes(
    content: memoryview, entries: list[_ZipEntry]
) -> Iterator[tuple[_ZipEntry, memoryview]]:
    """Yield each entry with its bytes. Raises `ArchiveError` unless each byte belongs to one entry."""
    end, allowed_gaps = 0, _NO_DESCRIPTOR
    for entry in entries:
        if entry.fault:
            raise ArchiveError(entry.fault, entry.name)
        name_at = entry.offset + _LOCAL.size
        name_end = name_at + len(entry.raw_name)
        if entry.offset - end not in allowed_gaps or name_end > len(content):
            raise ArchiveError("overlaps another entry, or follows bytes that belong to no entry", entry.name)
        mark, _, flags, method, *_, name_size, extra_size = _LOCAL.unpack_from(content, entry.offset)
        here = mark, flags & _ENCRYPTED, method, name_size, content[name_at:name_end]
        if here != (_LOCAL_MARK, 0, entry.method, len(entry.raw_name), entry.raw_name):
            raise ArchiveError("has two different descriptions", entry.name)
        end = name_end + extra_size + entry.packed_size
        if end > len(content):
            raise ArchiveError("overlaps another entry, or is cut short", entry.name)
        yield entry, content[name_end + extra_size : end]
        allowed_gaps = _DESCRIPTOR_SIZES if entry.flags & _HAS_DESCRIPTOR else _NO_DESCRIPTOR
    if len(content) - end not in allowed_gaps:
        raise ArchiveError("contains bytes that belong to no file")


def unpack(content: bytes, form: ArchiveFormat, bounds: ArchiveBounds) -> dict[str, bytes]:
    """Return all files of an archive by path. Raises `ArchiveError` if the archive is refused."""
    return unpack_with_modes(content, form, bounds).files


def unpack_with_modes(content: bytes, form: ArchiveFormat, bounds: ArchiveBounds) -> UnpackedFiles:
    """Return all files of an archive, and which files are executable. Raises `ArchiveError`."""
    if len(content) > bounds.packed:
        raise ArchiveError(f"has more than {bounds.packed:,} bytes")
    unpacked = UnpackedFiles(bounds)
    _READERS[form](content, unpacked)
    return unpacked


_READERS: dict[ArchiveFormat, Callable[[bytes, UnpackedFiles], None]] = {
    ArchiveFormat.TAR_GZ: untar,
    ArchiveFormat.ZIP: unzip,
}
