"""Reading a zip file: APPNOTE 6.3, without Zip64, which is for what is too large here."""

import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from skillwire.wire.archive_rules import (
    BOTH,
    CUT_SHORT,
    DAMAGED,
    GOES_ON,
    LINK,
    NEITHER,
    ArchiveError,
    Unpacked,
    utf8_name,
)

_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_END_MARK, _CENTRAL_MARK, _LOCAL_MARK = b"PK\5\6", b"PK\1\2", b"PK\3\4"
_PLAIN, _DEFLATED = 0, 8
_ENCRYPTED, _SUMS_FOLLOW, _UTF8 = 1 << 0 | 1 << 6 | 1 << 13, 1 << 3, 1 << 11
_NOTHING = frozenset({0})
_SUMS = frozenset({0, 12, 16, 20, 24})
"""How many bytes may stand behind a file's own: its sums, of 32 or 64 bits, with or without a mark."""


@dataclass(frozen=True, slots=True)
class _Zipped:
    """An entry of a zip file, as its directory describes it."""

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
            return self.raw_name.decode()  # also without the flag: macOS forgets it
        except UnicodeDecodeError:
            return utf8_name(self.raw_name) if self.flags & _UTF8 else self.raw_name.decode("cp437")

    @property
    def fault(self) -> str | None:
        if self.flags & _ENCRYPTED:
            return "is encrypted"
        if self.method not in {_PLAIN, _DEFLATED}:
            return f"is compressed by method {self.method}; only 0 and 8 are read"
        if stat.S_ISLNK(self.mode):
            return LINK
        if stat.S_ISDIR(self.mode) and not self.raw_name.endswith(b"/"):
            return BOTH
        return None if stat.S_IFMT(self.mode) in {0, stat.S_IFREG, stat.S_IFDIR} else NEITHER

    def read(self, packed: memoryview, left: int) -> bytes:
        """Return what `packed` holds; if that is more than `left` bytes, its beginning."""
        if self.method == _PLAIN:
            content, whole = bytes(packed[: left + 1]), True
        else:
            inflate = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
            try:
                content = inflate.decompress(packed, left + 1)
            except zlib.error as error:
                raise ArchiveError(DAMAGED, self.name) from error
            whole = inflate.eof and not inflate.unused_data
        right = whole and len(content) == self.size and zlib.crc32(content) == self.checksum
        if not right and len(content) <= left:
            raise ArchiveError(DAMAGED, self.name)
        return content


def unzip(content: bytes, into: Unpacked) -> None:
    """Add what a zip file holds, or raise `ArchiveError`."""
    entries, end = _directory(content, into)
    for entry, packed in _in_their_places(memoryview(content)[:end], entries):
        if entry.name.endswith("/"):
            into.add_folder(entry.name, entry.size)
        else:
            into.add_file(entry.name, partial(entry.read, packed), entry.mode)


def _directory(content: bytes, into: Unpacked) -> tuple[list[_Zipped], int]:
    """Return the entries of a zip file in the order of their places, and where the last of them ends."""
    at = content.rfind(_END_MARK)
    if at < 0 or len(content) < at + _END.size:
        raise ArchiveError(CUT_SHORT if content.startswith(_LOCAL_MARK) else "is not a zip file")
    _, disk, first_disk, here, count, size, start, comment = _END.unpack_from(content, at)
    if len(content) != at + _END.size + comment:
        raise ArchiveError(GOES_ON if len(content) > at + _END.size + comment else CUT_SHORT)
    if disk or first_disk or here != count or start + size != at:
        raise ArchiveError("is damaged, or is a Zip64 file or one of several parts, which are not read")
    entries: list[_Zipped] = []
    position = start
    while position < at:
        into.count()
        entry, position = _described(memoryview(content)[:at], position)
        entries.append(entry)
    if len(entries) != count:
        raise ArchiveError(DAMAGED)
    return sorted(entries, key=lambda entry: entry.offset), start


def _described(content: memoryview, position: int) -> tuple[_Zipped, int]:
    """Return the entry that the directory describes at `position`, and where the next one is described."""
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
    return _Zipped(name, flags, method, checksum, packed_size, size, attributes >> 16, offset), end


def _in_their_places(content: memoryview, entries: list[_Zipped]) -> Iterator[tuple[_Zipped, memoryview]]:
    """Yield each entry with its bytes. No byte belongs to two of them, and none to nobody."""
    end, behind = 0, _NOTHING
    for entry in entries:
        if entry.fault:
            raise ArchiveError(entry.fault, entry.name)
        name_at = entry.offset + _LOCAL.size
        name_end = name_at + len(entry.raw_name)
        if entry.offset - end not in behind or name_end > len(content):
            raise ArchiveError("shares bytes with another, or follows bytes that are nobody's", entry.name)
        mark, _, flags, method, *_, name_size, extra_size = _LOCAL.unpack_from(content, entry.offset)
        here = mark, flags & _ENCRYPTED, method, name_size, content[name_at:name_end]
        if here != (_LOCAL_MARK, 0, entry.method, len(entry.raw_name), entry.raw_name):
            raise ArchiveError("is described in two ways", entry.name)
        end = name_end + extra_size + entry.packed_size
        if end > len(content):
            raise ArchiveError("shares bytes with another, or is cut short", entry.name)
        yield entry, content[name_end + extra_size : end]
        behind = _SUMS if entry.flags & _SUMS_FOLLOW else _NOTHING
    if len(content) - end not in behind:
        raise ArchiveError("holds bytes that belong to no file")
