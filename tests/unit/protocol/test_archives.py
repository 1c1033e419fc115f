"""Archives of skills: ours have the same bytes every time, and somebody else's can do no harm."""

import contextlib
import gzip
import hashlib
import io
import stat
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from typing import Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skillwire.core.names import collision_key, parent_paths
from skillwire.protocol.archive_rules import ArchiveBounds, ArchiveError
from skillwire.protocol.delivery import ArchiveFormat, detect_archive_format
from skillwire.protocol.packing import choose_archive_format, pack, pack_skill
from skillwire.protocol.unpacking import unpack, unpack_with_modes
from tests.support.skills import skill_md

TAR, ZIP = ArchiveFormat.TAR_GZ, ArchiveFormat.ZIP
BOUNDS = ArchiveBounds()
SKILL = {
    "SKILL.md": skill_md("refunds"),
    "scripts/run.sh": b"#!/bin/sh\n",
    "references/größe.md": b"# Size\n",
    "references/" + "long-" * 30 + ".md": b"",
}
DIGESTS = {
    TAR: "387f7fb0b620de60d211a57842cda8e7f1bbbd3b39bc39216aa2df10cc66631d",
    ZIP: "a69aaba07ac1a47cf58d9f7a2ba524c4386cd6a3a32b2cd1e586c2da517d9d5d",
}
forms = pytest.mark.parametrize("form", ArchiveFormat)


def refusal(content: bytes, form: ArchiveFormat, bounds: ArchiveBounds = BOUNDS) -> str:
    """Return the reason for which an archive is refused."""
    with pytest.raises(ArchiveError) as caught:
        unpack(content, form, bounds)
    return str(caught.value)


def member(name: str, content: bytes = b"", kind: bytes = tarfile.REGTYPE) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(content)
    return info, content


def tar(
    *members: tuple[tarfile.TarInfo, bytes],
    layout: Literal[1, 2] = tarfile.PAX_FORMAT,
) -> bytes:
    """Return a tar.gz file of these members, however little sense they make."""
    blocks = (
        info.tobuf(layout, "utf-8", "surrogateescape") + content + bytes(-len(content) % 512)
        for info, content in members
    )
    return gzip.compress(b"".join(blocks) + bytes(1024), mtime=0)


class Unseekable(io.BytesIO):
    """A stream that a zip file is written to without going back: sums follow each file."""

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise io.UnsupportedOperation


def zipped(
    files: Mapping[str, bytes],
    *,
    method: int = zipfile.ZIP_DEFLATED,
    streamed: bool = False,
    comment: bytes = b"",
    mode: int = 0,
) -> bytes:
    """Return a zip file as the standard library makes it."""
    packed = Unseekable() if streamed else io.BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        archive.comment = comment
        for path, content in files.items():
            info = zipfile.ZipInfo(path)
            info.external_attr, info.compress_type = mode << 16, method
            archive.writestr(info, content)
    return packed.getvalue()


def zip_of(name: str, packed: bytes, *, size: int, checksum: int, method: int = 8, flags: int = 0) -> bytes:
    """Return a zip file of one entry that says of itself what it is told to."""
    raw = name.encode()
    says = struct.pack("<5H3L", 20, flags, method, 0, 33, checksum, len(packed), size)
    local = b"PK\3\4" + says + struct.pack("<2H", len(raw), 0) + raw + packed
    central = (
        b"PK\1\2" + struct.pack("<H", 20) + says + struct.pack("<5H2L", len(raw), 0, 0, 0, 0, 0, 0) + raw
    )
    return local + central + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, 1, 1, len(central), len(local), 0)


def named(name: str, form: ArchiveFormat) -> bytes:
    """Return an archive of one file with a name that no honest program would write."""
    if form is ZIP:
        length = len(name.encode())
        return pack({"~" * length: b"x"}, ZIP).replace(b"~" * length, name.encode())
    info, content = member("harmless", b"x")
    info.pax_headers = {"path": name}
    return tar((info, content))


# Packing


@forms
def test_the_same_files_make_the_same_bytes_on_every_machine(form: ArchiveFormat) -> None:
    packed = pack(SKILL, form, executable=["scripts/run.sh"])
    assert hashlib.sha256(packed).hexdigest() == DIGESTS[form]


@forms
def test_the_order_of_the_files_makes_no_difference(form: ArchiveFormat) -> None:
    assert pack(dict(reversed(SKILL.items())), form) == pack(SKILL, form)


def test_tar_file_reveals_nothing_about_the_machine() -> None:
    packed = pack(SKILL, TAR, executable=["scripts/run.sh"])
    assert packed[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        members = archive.getmembers()
        assert [member.name for member in members] == sorted(SKILL)
        assert {member.name: oct(member.mode) for member in members if member.mode != 0o644} == {
            "scripts/run.sh": "0o755"
        }
        assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, 0, "", "")}


def test_zip_file_reveals_nothing_about_the_machine() -> None:
    with zipfile.ZipFile(io.BytesIO(pack(SKILL, ZIP, executable=["scripts/run.sh"]))) as archive:
        infos = archive.infolist()
        assert [info.filename for info in infos] == sorted(SKILL)
        assert {info.filename for info in infos if info.external_attr >> 16 != stat.S_IFREG | 0o644} == {
            "scripts/run.sh"
        }
        assert {(info.date_time, info.create_system) for info in infos} == {((1980, 1, 1, 0, 0, 0), 3)}


def first_headers(packed: bytes) -> dict[str, bytes]:
    """Read a tar.gz file as readers do that know no pax headers, and skip what is no file."""
    content, files, at = gzip.decompress(packed), dict[str, bytes](), 0
    while any(header := content[at : at + 512]):
        name, above = (field.partition(b"\0")[0] for field in (header[:100], header[345:500]))
        size = int(header[124:135], 8)
        if header[156:157] == b"0":
            path = (above + b"/" + name if above else name).decode()
            files[path] = content[at + 512 : at + 512 + size]
        at += 512 + -(-size // 512) * 512
    return files


def test_readers_that_skip_pax_headers_find_every_path() -> None:
    files = {"SKILL.md": b"1", "references/größe.md": b"2", "folder/" * 20 + "file.md": b"3", "日本.md": b"4"}
    assert first_headers(pack(files, TAR)) == files == unpack(pack(files, TAR), TAR, BOUNDS)
    assert choose_archive_format(files) is TAR


def test_a_path_too_long_for_a_tar_header_selects_zip() -> None:
    assert choose_archive_format(["SKILL.md", "x" * 101]) is ZIP
    assert choose_archive_format(["SKILL.md", "ü" * 51]) is ZIP


@forms
def test_executable_files_are_known_again_after_packing(form: ArchiveFormat) -> None:
    files = {"SKILL.md": b"", "run": b"\x7fELF", "scripts/run.sh": b"#!/bin/sh\n", "plain": b""}
    packed = pack_skill(files, form, ["run"])
    assert unpack_with_modes(packed, form, BOUNDS).executable == {"run", "scripts/run.sh"}


def test_invalid_file_mode_is_ignored() -> None:
    content = bytearray(gzip.decompress(pack({"SKILL.md": b"x"}, TAR)))
    content[100:108] = b"whatever"
    content[148:156] = b"%06o\0 " % (sum(content[:512]) - sum(content[148:156]) + 8 * 32)
    unpacked = unpack_with_modes(gzip.compress(bytes(content)), TAR, BOUNDS)
    assert (unpacked.files, unpacked.executable) == ({"SKILL.md": b"x"}, set())


# What form it is


@pytest.mark.parametrize(
    ("name", "mime_type", "form"),
    [
        ("refunds.zip", "", ZIP),
        ("refunds.tar.gz", "", TAR),
        ("Refunds.TGZ", "", TAR),
        ("refunds.zip", "application/gzip", TAR),
        ("refunds", "Application/Zip; charset=binary", ZIP),
        ("refunds.zip", "application/octet-stream", ZIP),
        ("refunds.tar", "", None),
        ("refunds.gz", "application/x-tar", None),
    ],
)
def test_the_mime_type_decides_the_format_then_the_suffix(
    name: str, mime_type: str, form: ArchiveFormat | None
) -> None:
    assert detect_archive_format(name, mime_type) is form


@forms
def test_format_is_detected_by_its_own_mime_type_and_suffix(form: ArchiveFormat) -> None:
    assert detect_archive_format(f"x{form.suffix}") is detect_archive_format("x", form.mime_type) is form


# There and back

NAMES = st.text("aBcß9éŁ漢-_ .:#%", min_size=1, max_size=5).filter(lambda name: not name.endswith((" ", ".")))
PATHS = st.lists(NAMES.filter(lambda name: name[1:2] != ":"), min_size=1, max_size=4).map("/".join)
FILES = st.dictionaries(PATHS, st.binary(max_size=1500), max_size=6)


def tellable(files: Iterable[str]) -> bool:
    """Whether every file system can tell these paths, and the folders on the way, from each other."""
    paths = set(files)
    folders = {folder for path in paths for folder in parent_paths(path)}
    return len({collision_key(each) for each in paths | folders}) == len(paths) + len(folders)


@given(FILES, st.sampled_from(ArchiveFormat))
def test_what_was_packed_is_unpacked(files: dict[str, bytes], form: ArchiveFormat) -> None:
    assume(tellable(files))
    assert unpack(pack(files, form), form, BOUNDS) == files


@given(FILES, st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]))
def test_what_tar_packed_is_unpacked(files: dict[str, bytes], layout: Literal[1, 2]) -> None:
    assume(tellable(files))
    members = [member(f"./{path}", content) for path, content in files.items()]
    root = member("./", kind=tarfile.DIRTYPE)
    assert unpack(tar(root, *members, layout=layout), TAR, BOUNDS) == files


@given(FILES, st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]), st.booleans())
def test_what_zip_packed_is_unpacked(files: dict[str, bytes], method: int, streamed: bool) -> None:  # noqa: FBT001 - drawn
    assume(tellable(files))
    assert unpack(zipped(files, method=method, streamed=streamed), ZIP, BOUNDS) == files


@given(st.sampled_from(ArchiveFormat), st.data())
def test_damaged_archive_is_refused_or_harmless(form: ArchiveFormat, data: st.DataObject) -> None:
    packed = bytearray(zipped(SKILL) if form is ZIP else gzip.decompress(pack(SKILL, TAR)))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    content = bytes(packed) if form is ZIP else gzip.compress(packed, 0)
    with contextlib.suppress(ArchiveError):
        assert len(unpack(content, form, BOUNDS)) <= len(SKILL)


@forms
def test_an_archive_that_is_cut_anywhere_is_refused(form: ArchiveFormat) -> None:
    packed = pack({"SKILL.md": skill_md("refunds")}, form)
    for end in range(len(packed)):
        refusal(packed[:end], form)


def test_folders_modes_and_owners_are_ignored() -> None:
    folder = member("scripts/", kind=tarfile.DIRTYPE)
    script = member("scripts/run.sh", b"x")
    script[0].mode, script[0].uid, script[0].uname = 0o6777, 1000, "mallory"
    assert unpack(tar(folder, script, folder), TAR, BOUNDS) == {"scripts/run.sh": b"x"}
    assert unpack(zipped({"scripts/": b"", "scripts/run.sh": b"x"}), ZIP, BOUNDS) == {"scripts/run.sh": b"x"}


def test_what_git_packs_is_unpacked() -> None:
    commit = member("pax_global_header", b"52 comment=" + b"0" * 40 + b"\n", tarfile.XGLTYPE)
    assert unpack(tar(commit, member("SKILL.md", b"x")), TAR, BOUNDS) == {"SKILL.md": b"x"}
    commented = zipped({"SKILL.md": b"x"}, comment=b"0" * 40)
    assert unpack(commented, ZIP, BOUNDS) == {"SKILL.md": b"x"}


def test_cp437_name_is_decoded() -> None:
    packed = pack({"gr__e.md": b"x"}, ZIP).replace(b"gr__e.md", "größe.md".encode("cp437"))
    assert unpack(packed, ZIP, BOUNDS) == {"größe.md": b"x"}


# Names

REFUSED_NAMES = {
    "/etc/passwd": "is an absolute path",
    "//server/share/x": "is an absolute path",
    ".//x": "is an absolute path",
    "../x": "has `..` in its path",
    "a/../../x": "has `..` in its path",
    "a/..": "has `..` in its path",
    "a/./x": "has `.` in its path",
    "././x": "has `.` in its path",
    "a//x": "has an empty name in its path",
    "a\\x": "contains a path separator",
    "..\\x": "contains a path separator",
    "\\\\server\\share\\x": "contains a path separator",
    "C:\\x": "contains a path separator",
    "C:/x": "contains a drive letter",
    "c:x": "contains a drive letter",
    "wrapped/C:/x": "contains a drive letter",
    "SKILL.md\0.exe": "contains a control character",
    "\0": "contains a control character",
    "a\x1b[31m": "contains a control character",
    "CON": "has the name of a Windows device",
    "nul.tar.gz": "has the name of a Windows device",
    "a/Aux .md": "has the name of a Windows device",
    "prn/x": "has the name of a Windows device",
    "COM1": "has the name of a Windows device",
    "lpt¹.txt": "has the name of a Windows device",
    "conout$": "has the name of a Windows device",
    "SKILL.md.": "ends in a dot or a space",
    "a/.. /x": "ends in a dot or a space",
    "x" * 256: "has a name of more than 255 bytes",
    "x/" * 64 + "x": "is longer than 1,024 bytes or 64 names",
    "x" * 2000: "is longer than 1,024 bytes or 64 names",
}


@pytest.mark.parametrize("name", REFUSED_NAMES)
@forms
def test_a_name_that_leads_elsewhere_is_refused(form: ArchiveFormat, name: str) -> None:
    said = refusal(named(name, form), form)
    assert REFUSED_NAMES[name] in said
    assert said.startswith("contains `")


@pytest.mark.parametrize(
    "name", ["console.md", "a/common.md", "com10", "nullable", "..a", "a..b/...c", "ab:c"]
)
@forms
def test_a_name_that_only_looks_suspicious_is_fine(form: ArchiveFormat, name: str) -> None:
    assert unpack(named(name, form), form, BOUNDS) == {name: b"x"}


@forms
def test_a_name_that_is_not_utf_8_is_refused(form: ArchiveFormat) -> None:
    if form is ZIP:
        packed = pack({"ü.md": b"x"}, ZIP).replace("ü".encode(), b"\xff\xfe")
    else:
        packed = tar(member("\udcff\udcfe.md", b"x"), layout=tarfile.GNU_FORMAT)
    assert refusal(packed, form) == r"contains `\udcff\udcfe.md`, which is not UTF-8"


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        (["A.md", "a.md"], "some systems cannot distinguish from `A.md`"),
        (["caf\u00e9.md", "cafe\u0301.md"], "some systems cannot distinguish from"),
        (["STRASSE", "stra\u00dfe"], "some systems cannot distinguish from `STRASSE`"),
        (["Docs/a.md", "docs/b.md"], "some systems cannot distinguish from `Docs`"),
        (["a", "a/b"], "is both a file and a folder"),
        (["A", "a/b"], "some systems cannot distinguish from"),
    ],
)
@forms
def test_names_that_collide_on_some_systems_are_refused(
    form: ArchiveFormat, files: list[str], rule: str
) -> None:
    assert rule in refusal(pack(dict.fromkeys(files, b"x"), form), form)


@pytest.mark.parametrize(
    ("form", "packed"),
    [
        (ZIP, pack({"one.md": b"1", "two.md": b"2"}, ZIP).replace(b"two.md", b"one.md")),
        (TAR, gzip.compress(gzip.decompress(pack({"one.md": b"1"}, TAR))[:1024] * 2 + bytes(1024), mtime=0)),
    ],
)
def test_one_name_twice_is_refused(form: ArchiveFormat, packed: bytes) -> None:
    assert refusal(packed, form) == "contains `one.md`, which is there twice"


# What is no file

LINKS_AND_DEVICES = {
    tarfile.LNKTYPE: "is a hard link",
    tarfile.SYMTYPE: "is a symbolic link",
    tarfile.CHRTYPE: "is a device",
    tarfile.BLKTYPE: "is a device",
    tarfile.FIFOTYPE: "is a FIFO",
    tarfile.GNUTYPE_SPARSE: "is a sparse file",
    tarfile.CONTTYPE: "is neither a file nor a folder",
    b"V": "is neither a file nor a folder",
}


@pytest.mark.parametrize("kind", LINKS_AND_DEVICES)
def test_only_files_and_folders_come_out_of_a_tar_file(kind: bytes) -> None:
    info, content = member("odd", kind=kind)
    info.linkname = "/etc/passwd"
    assert refusal(tar(member("SKILL.md", b"x"), (info, content)), TAR) == (
        f"contains `odd`, which {LINKS_AND_DEVICES[kind]}"
    )


@pytest.mark.parametrize(
    ("mode", "rule"),
    [
        (stat.S_IFLNK | 0o777, "is a symbolic link"),
        (stat.S_IFIFO, "is neither a file nor a folder"),
        (stat.S_IFCHR, "is neither a file nor a folder"),
        (stat.S_IFDIR, "is both a file and a folder"),
    ],
)
def test_only_files_and_folders_come_out_of_a_zip_file(mode: int, rule: str) -> None:
    assert refusal(zipped({"odd": b"/etc/passwd"}, mode=mode), ZIP) == f"contains `odd`, which {rule}"


def test_a_sparse_file_in_disguise_is_refused() -> None:
    info, content = member("holes", b"1\n0\n1\nx")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "1"}
    assert refusal(tar((info, content)), TAR) == "contains `holes`, which is a sparse file"


@pytest.mark.parametrize("flag", [1 << 0, 1 << 6, 1 << 13])
def test_an_encrypted_file_is_refused(flag: int) -> None:
    packed = zip_of("secret", b"x", size=1, checksum=zlib.crc32(b"x"), method=0, flags=flag)
    assert refusal(packed, ZIP) == "contains `secret`, which is encrypted"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_only_the_two_common_ways_to_compress_are_read(method: int) -> None:
    assert f"is compressed by method {method}" in refusal(zipped({"a": b"x"}, method=method), ZIP)


def test_folder_with_content_is_refused() -> None:
    assert "is a folder with content" in refusal(tar(member("a/", b"x", tarfile.DIRTYPE)), TAR)
    packed = zip_of("a/", b"x", size=1, checksum=zlib.crc32(b"x"), method=0)
    assert "is a folder with content" in refusal(packed, ZIP)


# What is damaged, or says two things at once

STORED = pack({"one.md": b"first", "two.md": b"other"}, ZIP)
SECOND_OFFSET = len(STORED) - 22 - len("two.md") - 4
"""Where the directory of the zip file says at which byte the second file begins."""
TARRED = gzip.decompress(pack({"one.md": b"first"}, TAR))
GZIPPED = gzip.compress(TARRED, mtime=0)
LONG_NAME = tarfile.TarInfo("x" * 200).tobuf(tarfile.GNU_FORMAT)[:1024]
NOT_TAR = "is damaged, or is not a tar.gz file"


def patched(content: bytes, at: int, new: bytes) -> bytes:
    return content[:at] + new + content[at + len(new) :]


def pax(content: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    """Return a tar.gz file with this header before its one file."""
    return tar(member("header", content, kind), member("one.md", b"first"))


DAMAGED = {
    "nothing": (ZIP, b"", "is not a zip file"),
    "another format": (ZIP, b"Rar!\x1a\x07", "is not a zip file"),
    "a tar.gz file called zip": (ZIP, GZIPPED, "is not a zip file"),
    "data before": (ZIP, b"#!" + STORED, "is damaged, or is a Zip64 or multi-part file"),
    "data after": (ZIP, STORED + b"x", "contains data after its end"),
    "a flipped bit": (ZIP, STORED.replace(b"first", b"First"), "contains `one.md`, which is damaged"),
    "other size": (
        ZIP,
        zip_of("a", b"x", size=2, checksum=zlib.crc32(b"x"), method=0),
        "contains `a`, which is damaged",
    ),
    "no deflated bytes": (ZIP, zip_of("a", b"\xff", size=1, checksum=0), "contains `a`, which is damaged"),
    "too many deflated bytes": (
        ZIP,
        zip_of("a", b"\x03\0\0", size=0, checksum=0),
        "contains `a`, which is damaged",
    ),
    "one file on another": (
        ZIP,
        patched(STORED, SECOND_OFFSET, bytes(4)),
        "contains `two.md`, which overlaps another entry",
    ),
    "one file in another": (
        ZIP,
        patched(STORED, SECOND_OFFSET, b"\2\0\0\0"),
        "contains `two.md`, which overlaps another entry",
    ),
    "a file far away": (
        ZIP,
        patched(STORED, SECOND_OFFSET, b"\xff" * 4),
        "contains `two.md`, which overlaps another entry",
    ),
    "two names": (
        ZIP,
        STORED.replace(b"two.md", b"2wo.md", 1),
        "contains `two.md`, which has two different descriptions",
    ),
    "a file longer than the archive": (
        ZIP,
        patched(STORED, SECOND_OFFSET - 22, b"\xff"),
        "contains `two.md`, which overlaps another entry, or is cut short",
    ),
    "a directory of something else": (ZIP, STORED.replace(b"PK\1\2", b"PK\1\1"), "is damaged"),
    "a directory that is too short": (
        ZIP,
        b"???PK\5\6" + struct.pack("<4H2LH", 0, 0, 1, 1, 3, 0, 0),
        "is damaged",
    ),
    "a file left out": (ZIP, patched(STORED, len(STORED) - 14, b"\1\0\1\0"), "is damaged"),
    "several parts": (
        ZIP,
        patched(STORED, len(STORED) - 18, b"\1"),
        "is damaged, or is a Zip64 or multi-part file",
    ),
    "nothing called tar.gz": (TAR, b"", "is not a tar.gz file"),
    "a zip file called tar.gz": (TAR, STORED, "is not a tar.gz file"),
    "gzip of something": (TAR, gzip.compress(b"x" * 512), NOT_TAR),
    "gzip of nothing": (TAR, gzip.compress(b""), "is cut short"),
    "no end": (TAR, gzip.compress(TARRED[:1024]), "is cut short"),
    "no file behind a header": (TAR, gzip.compress(LONG_NAME + bytes(1024)), "is cut short"),
    "a wrong sum in tar": (TAR, gzip.compress(b"O" + TARRED[1:]), NOT_TAR),
    "a wrong sum in gzip": (TAR, patched(GZIPPED, len(GZIPPED) - 8, b"\0\0\0\0"), "is damaged"),
    "no deflate": (TAR, GZIPPED[:10] + b"\xff" * 20, "is damaged"),
    "bytes after gzip": (TAR, GZIPPED + b"x", "contains data after its end"),
    "gzip after gzip": (TAR, GZIPPED + GZIPPED, "contains data after its end"),
    "tar after tar": (TAR, gzip.compress(TARRED + TARRED), "contains data after its end"),
    "a pax header without length": (TAR, pax(b"path=x\n"), "is damaged: a header is invalid"),
    "a pax header too short": (TAR, pax(b"99 path=x\n"), "is damaged: a header is invalid"),
    "a pax header inside out": (TAR, pax(b"3 path=x\n"), "is damaged: a header is invalid"),
    "no size": (TAR, pax(b"11 size=-1\n"), "is damaged: the size of a file is not a number"),
    "one name for all": (
        TAR,
        pax(b"14 path=other\n", tarfile.XGLTYPE),
        "gives all its files the same path",
    ),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_or_ambiguous_archive_is_refused(damage: str) -> None:
    form, content, rule = DAMAGED[damage]
    assert refusal(content, form).startswith(rule)


def test_bytes_that_belong_to_no_file_are_refused() -> None:
    start = STORED.index(b"PK\1\2")
    moved = patched(STORED, len(STORED) - 6, struct.pack("<L", start + 3))
    assert refusal(moved[:start] + b"???" + moved[start:], ZIP) == "contains bytes that belong to no file"


# Too much

ZEROS = zlib.compressobj(9, zlib.DEFLATED, -15)
MEBIBYTE = ZEROS.compress(bytes(1 << 20)) + ZEROS.flush(zlib.Z_FULL_FLUSH)
"""Deflated zeros that can be followed by themselves: a mebibyte in a kilobyte."""
TEN_GIBIBYTES = MEBIBYTE * 10 * 1024 + b"\x03\0"
JUST_TOO_MUCH = MEBIBYTE * (BOUNDS.packed // (1 << 20) + 2) + b"\xff" * 1000
"""Whoever reads on after the bound finds damage, and says so."""
GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
TOO_MANY_BYTES = "contains files of more than 16,777,216 bytes together"


def claiming(size: int) -> bytes:
    """Return the deflated header of a tar file's first file, which is said to have this size."""
    info = tarfile.TarInfo("bomb")
    info.size = size
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(info.tobuf(tarfile.GNU_FORMAT)) + deflate.flush(zlib.Z_FULL_FLUSH)


BOMBS = {
    "zeros": (TAR, GZIP_HEADER + TEN_GIBIBYTES, "unpacks to more than"),
    "zeros and damage": (TAR, GZIP_HEADER + JUST_TOO_MUCH, "unpacks to more than"),
    "a large file": (TAR, GZIP_HEADER + claiming(10 << 30) + TEN_GIBIBYTES, TOO_MANY_BYTES),
    "a large file and damage": (TAR, GZIP_HEADER + claiming(1 << 60) + JUST_TOO_MUCH, TOO_MANY_BYTES),
    "a file said to be empty": (TAR, GZIP_HEADER + claiming(0) + TEN_GIBIBYTES, "unpacks to more than"),
    "zipped zeros": (ZIP, zip_of("bomb", TEN_GIBIBYTES, size=1, checksum=0), TOO_MANY_BYTES),
    "zipped zeros and damage": (ZIP, zip_of("bomb", JUST_TOO_MUCH, size=1, checksum=0), TOO_MANY_BYTES),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_before_it_fills_the_memory(bomb: str) -> None:
    form, content, rule = BOMBS[bomb]
    tracemalloc.start()
    try:
        said = refusal(content, form)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert said.startswith(rule)
    assert peak < 4 * BOUNDS.packed


@forms
def test_archive_above_the_size_limit_is_not_opened(form: ArchiveFormat) -> None:
    assert refusal(bytes(BOUNDS.packed + 1), form) == f"has more than {BOUNDS.packed:,} bytes"


@forms
def test_archive_at_the_limit_is_unpacked(form: ArchiveFormat) -> None:
    files = {f"{number:03}/" + "long" * 50: bytes(100) for number in range(20)}
    packed = pack(files, form)
    assert unpack(packed, form, ArchiveBounds(2000, 20)) == files
    assert (
        refusal(packed, form, ArchiveBounds(1999, 20)) == "contains files of more than 1,999 bytes together"
    )
    assert refusal(packed, form, ArchiveBounds(2000, 19)) == "contains more than 19 files and folders"


@pytest.mark.parametrize(
    ("form", "packed"),
    [
        (TAR, tar(*[member(f"{number}/", kind=tarfile.DIRTYPE) for number in range(513)])),
        (ZIP, zipped({f"{number}/": b"" for number in range(513)})),
    ],
)
def test_empty_folders_are_counted_too(form: ArchiveFormat, packed: bytes) -> None:
    assert refusal(packed, form) == "contains more than 512 files and folders"


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_is_too_long_is_refused(kind: bytes) -> None:
    info = tarfile.TarInfo("header")
    info.type, info.size = kind, 1 << 40
    assert (
        refusal(tar((info, b""), layout=tarfile.GNU_FORMAT), TAR)
        == "contains a header of more than 65,536 bytes"
    )


def test_too_many_headers_are_refused() -> None:
    headers = tarfile.TarInfo("x" * 200).tobuf(tarfile.GNU_FORMAT)[:1024] * (4 * BOUNDS.entries + 1)
    rule = "contains more than 4 headers for each allowed file"
    assert refusal(gzip.compress(headers, 1), TAR) == rule


def test_too_many_records_are_refused() -> None:
    content = b"".join(b"13 x%07d=\n" % number for number in range(1001))
    assert refusal(pax(content), TAR) == "contains a header of more than 1,000 records"
