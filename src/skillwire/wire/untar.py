"""Reading a tar.gz file.

POSIX.1-2001 (ustar and pax), and what GNU tar made of long names and large numbers before that.
"""

import re
from collections.abc import Iterator

from skillwire.wire.archive_rules import CUT_SHORT, LINK, NEITHER, ArchiveError, Unpacked, utf8_name
from skillwire.wire.gunzip import Gunzip

_BLOCK = 512
_MAX_HEADER = 65_536
_MAX_RECORDS = 1000
"""Records of one header."""
_HEADERS_PER_ENTRY = 4
_FILE, _OLD_FILE, _FOLDER = b"0", b"\0", b"5"
_LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL = b"L", b"K", b"x", b"g"
_SPARSE, _SPARSE_KEY = b"S", b"GNU.sparse."
_REFUSED_TYPES = {
    b"1": "is a hard link",
    b"2": LINK,
    b"3": "is a device",
    b"4": "is a device",
    b"6": "is a FIFO",
    _SPARSE: "is a sparse file",
}
_OCTAL = re.compile(rb" *([0-7]*) *(\0.*)?", re.DOTALL)
_DECIMAL = re.compile(rb"[0-9]{1,19}")
_RECORD = re.compile(rb"([1-9][0-9]{0,5}) ([^=]+)=")


def untar(content: bytes, into: Unpacked) -> None:
    """Add what a tar.gz file holds, or raise `ArchiveError`."""
    if not content.startswith(b"\x1f\x8b"):
        raise ArchiveError("is not a tar.gz file")
    stream = Gunzip(content, into.bounds.packed)
    said: dict[bytes, bytes] = {}
    headers = 0
    while any(header := stream.take(_BLOCK)):
        if _number(header[148:156]) != sum(header) - sum(header[148:156]) + 8 * ord(" "):
            raise ArchiveError("is damaged, or is not a tar.gz file")
        kind, size = header[156:157], _number(header[124:136])
        if kind in {_LONG_NAME, _LONG_LINK, _PAX, _PAX_FOR_ALL}:
            said |= _said(kind, size, stream)
            if (headers := headers + 1) > _HEADERS_PER_ENTRY * into.bounds.entries:
                raise ArchiveError(
                    f"holds more than {_HEADERS_PER_ENTRY} headers for each file that it may hold"
                )
            continue
        name = utf8_name(said.get(b"path") or _short_name(header))
        size = int(said.get(b"size", size))
        if any(key.startswith(_SPARSE_KEY) for key in said):
            kind = _SPARSE
        into.count()
        _add_from_tar(name, kind, (size, _mode(header[100:108])), stream, into)
        said = {}
    if said:
        raise ArchiveError(CUT_SHORT)
    stream.finish()


def _add_from_tar(
    name: str, kind: bytes, size_and_mode: tuple[int, int], stream: Gunzip, into: Unpacked
) -> None:
    size, mode = size_and_mode
    if kind == _FOLDER or (kind == _OLD_FILE and name.endswith("/")):
        into.add_folder(name, size)
    elif kind in {_FILE, _OLD_FILE}:
        into.add_file(name, lambda left: _take_blocks(stream, min(size, left + 1)), mode)
    else:
        raise ArchiveError(_REFUSED_TYPES.get(kind, NEITHER), name)


def _said(kind: bytes, size: int, stream: Gunzip) -> dict[bytes, bytes]:
    """Return what a header says of the entry behind it, such as its path and its size."""
    if size > _MAX_HEADER:
        raise ArchiveError(f"holds a header of more than {_MAX_HEADER:,} bytes")
    content = _take_blocks(stream, size)
    if kind in {_LONG_NAME, _LONG_LINK}:
        return {b"path": content.rstrip(b"\0")} if kind == _LONG_NAME else {}
    said = dict(_records(content))
    if kind == _PAX_FOR_ALL and any(map(_matters, said)):
        raise ArchiveError("gives all its files one path, size or shape")
    if not _DECIMAL.fullmatch(said.get(b"size", b"0")):
        raise ArchiveError("is damaged: the size of a file is not a number")
    return {key: value for key, value in said.items() if _matters(key)} if kind == _PAX else {}


def _matters(key: bytes) -> bool:
    """Whether a record is used. The others are not kept: headers may follow each other without end."""
    return key in {b"path", b"size"} or key.startswith(_SPARSE_KEY)


def _records(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a pax header: `17 path=SKILL.md` and a line break, 17 bytes in all."""
    start = 0
    for _ in range(_MAX_RECORDS + 1):
        if start == len(content):
            return
        found = _RECORD.match(content, start)
        end = start + int(found[1]) if found else 0
        if found is None or not found.end() < end <= len(content) or content[end - 1 : end] != b"\n":
            raise ArchiveError("is damaged: a header cannot be understood")
        yield found[2], content[found.end() : end - 1]
        start = end
    raise ArchiveError(f"holds a header of more than {_MAX_RECORDS:,} records")


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
    """Return the permissions of a file; none where they cannot be read, because nothing depends on them."""
    try:
        return _number(field)
    except ArchiveError:
        return 0


def _take_blocks(stream: Gunzip, size: int) -> bytes:
    """Return the next `size` bytes, and pass over what fills up their last block."""
    content = stream.take(size)
    stream.take(-size % _BLOCK)
    return content
