"""The skills that the last scan found, cached on disk so that startup reads only changed files."""

import hashlib
import os
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path
from sys import intern
from typing import Any

import orjson

from skillwire import __version__
from skillwire.core.atomic_write import remove_abandoned, replace_file
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import DIGEST_LENGTH, Digest, Limits, Origin, SkillFile
from skillwire.frontmatter.document import SkillDocument
from skillwire.frontmatter.values import share_texts
from skillwire.sources.folder.facts import FileFacts, KnownFile
from skillwire.sources.folder.files import Stamp
from skillwire.sources.folder.last_good import LastGood, SpillFile
from skillwire.sources.folder.listing import join_location
from skillwire.sources.folder.plain_skill import PlainSkill, plain_record
from skillwire.sources.folder.skill_folder import without_containers

_FORMAT_VERSION = f"skillwire folder 4, {__version__}"
"""The version of the cache format.

It includes the program's version, because versions may read frontmatter differently.
"""
_MAX_BYTES = 256 * 1024 * 1024
_ERRORS = (OSError, orjson.JSONDecodeError, IndexError, KeyError, TypeError, ValueError)


class ScanCache:
    """The cache file of one root. Its skills are parsed when a scan asks for them, one after the other."""

    def __init__(self, cache: Path, root: Path, limits: Limits, label: str = "") -> None:
        """`label` is the label of the source, for the origins of the skills."""
        self._root = os.path.realpath(root)
        self._inside = join_location(self._root, "")
        self._limits = limits
        self._label = label
        name = hashlib.sha256(os.fsencode(self._root)).hexdigest()[:32]
        self._file = cache / f"{name}.jsonl"
        self._content, self._at = b"", 0
        """The content of the file, and the offset of the first row that was not parsed yet."""
        self._next: list[Any] | None = None
        """The row of the next plain skill, which begins with its path."""

    def load(self) -> None:
        """Read the cache file, if there is one.

        The cache stays empty if the file is damaged, too large, or from another version or other limits.
        """
        with suppress(*_ERRORS):
            if self._file.stat().st_size > _MAX_BYTES:
                return
            content = self._file.read_bytes()
            start = content.index(b"\n") + 1
            if orjson.loads(content[:start]) == self._head(memoryview(content)[start:]):
                self._content, self._at = content, start

    def find_cached(self, path: str, trail: frozenset[tuple[int, int]]) -> PlainSkill | None:
        """Return the plain skill in the folder at `path`; None if it is missing.

        Call it with the paths in the order of a walk. A skill is not found after a later one. `trail` is the
        trail of the folder.
        """
        row = self._next
        wanted = _segments(path) if row is not None and row[0] != path else []
        while row is not None and wanted > _segments(row[0]):
            row = self._advance()
        if row is None or row[0] != path:
            return None
        self._advance()
        try:
            return self._parse_plain_skill(row, trail)
        except _ERRORS:
            return None

    def facts(self, spill_file: SpillFile | None) -> dict[str, KnownFile]:
        """Return the cached facts about the files in skill folders that are not plain, by location.

        With `spill_file`, the content of a `SKILL.md` can be used as the last good version. Call this
        function once, before `find_cached`.
        """
        try:
            files: list[list[Any]] = self._parse_row() or []
            return dict(_parse_known_file(self._root, each, spill_file) for each in files)
        except _ERRORS:
            return {}
        finally:
            self._advance()

    def save(self, plain: Mapping[str, PlainSkill], known: Mapping[str, KnownFile]) -> None:
        """Write the cache file. If this fails, the next start reads everything."""
        inside = self._inside
        files = [
            [
                location[len(inside) :],
                *stamp,
                str(facts.digest),
                facts.mime_type,
                _frontmatter(facts),
            ]
            for location, (stamp, facts) in known.items()
            if location.startswith(inside) and location.isprintable() and _has_no_problems(facts.document)
        ]
        with suppress(OSError, orjson.JSONEncodeError):
            # A large file is written from one buffer, because joining its parts would take as much again.
            head = orjson.dumps(self._head(b"")) + b"\n"
            content = bytearray(head)
            content += orjson.dumps(files)
            for row in _rows(plain):
                content += b"\n" + row
                if len(content) > _MAX_BYTES:
                    return
            with memoryview(content) as view:
                told = self._head(view[len(head) :])
            content[: len(head)] = orjson.dumps(told) + b"\n"  # as long as before
            self._write(content)

    def _write(self, content: bytearray) -> None:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_abandoned(self._file.parent)
        replace_file(self._file, content, private=True, durable=False)

    def _head(self, body: bytes | memoryview) -> list[Any]:
        return [_FORMAT_VERSION, self._root, list(astuple(self._limits)), hashlib.sha256(body).hexdigest()]

    def _advance(self) -> list[Any] | None:
        """Parse and return the next plain skill's row. After a damaged row, the cache is empty."""
        self._next = None
        with suppress(*_ERRORS):
            row = self._parse_row()
            if row is not None and isinstance(row[0], str):
                self._next = row
        if self._next is None:
            self._content, self._at = b"", 0
        return self._next

    def _parse_row(self) -> list[Any] | None:
        """Return the next row, or None after the last row."""
        if self._at >= len(self._content):
            return None
        end = self._content.find(b"\n", self._at)
        end = end if end >= 0 else len(self._content)
        row = self._content[self._at : end]
        self._at = end + 1
        return orjson.loads(row)

    def _parse_plain_skill(self, row: list[Any], trail: frozenset[tuple[int, int]]) -> PlainSkill:
        path, entry_count, packed, directories, paths, kinds, sizes, runnable, frontmatter = row
        stamps, digests = map(a2b_base64, packed)
        starts = range(0, len(digests), DIGEST_LENGTH)
        files = tuple(
            [
                SkillFile(intern(file), intern(kind), Digest.from_raw(digests[at : at + DIGEST_LENGTH]), size)
                for file, kind, at, size in zip(paths, kinds, starts, sizes, strict=True)
            ]
        )
        if runnable:
            files = tuple(
                replace(file, executable=True) if number in runnable else file
                for number, file in enumerate(files)
            )
        share_texts(frontmatter)
        record = plain_record(
            SkillDocument(frontmatter, ()),
            without_containers(path),
            files,
            tuple(map(intern, directories)) if directories else (),
            Origin(
                self._label,
                f"{self._inside}{path}" if path else self._root,
                f"{path}/{SKILL_FILE}" if path else SKILL_FILE,
            ),
        )
        return PlainSkill(record, trail, entry_count, stamps)


def _rows(plain: Mapping[str, PlainSkill]) -> Iterator[bytes]:
    """Yield a row for each plain skill. The next start reads a `SKILL.md` with problems again."""
    for path in sorted(plain, key=_segments):
        known = plain[path]
        if not path.isprintable():
            continue
        files = known.files
        if known.record.problems:
            known = known.distrust_stamps(frozenset({join_location(known.location, SKILL_FILE)}))
        digests = b"".join(file.digest.raw for file in files)
        yield orjson.dumps(
            [
                path,
                known.entry_count,
                [b2a_base64(each, newline=False).decode() for each in (known.stamps, digests)],
                known.record.directories,
                [file.path for file in files],
                [file.mime_type for file in files],
                [file.size for file in files],
                [number for number, file in enumerate(files) if file.executable],
                known.record.frontmatter,
            ]
        )


def _segments(path: str) -> list[str]:
    return path.split("/")


def _has_no_problems(document: SkillDocument | None) -> bool:
    return document is None or not document.problems


def _frontmatter(facts: FileFacts) -> Any:
    return None if facts.document is None else facts.document.frontmatter


def _parse_known_file(root: str, row: list[Any], spill_file: SpillFile | None) -> tuple[str, KnownFile]:
    path, size, modified, changed, inode, device, digest, mime_type, frontmatter = row
    location = join_location(root, path)
    stamp, digest = Stamp(size, modified, changed, inode, device), Digest(digest)
    if path.rpartition(os.sep)[2].upper() != SKILL_FILE.upper():
        return location, (stamp, FileFacts(digest, size, mime_type))
    last_good = _make_last_good(location, size, digest, spill_file)
    return location, (stamp, FileFacts(digest, size, mime_type, SkillDocument(frontmatter, ()), last_good))


def _make_last_good(
    location: str, size: int, digest: Digest, spill_file: SpillFile | None
) -> LastGood | None:
    return None if spill_file is None else LastGood.from_file(location, size, digest, spill_file)
