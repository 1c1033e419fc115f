"""The skills that the last scan found, cached on disk so that startup reads only changed files."""

import hashlib
import os
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple, replace
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple

import orjson

from skillwire import __version__
from skillwire.core.atomic_write import remove_abandoned, replace_file
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import DIGEST_LENGTH, Digest, Limits, SkillFile
from skillwire.frontmatter.document import SkillDocument
from skillwire.sources.base import Locations
from skillwire.sources.folder.facts import FileFacts, KnownFile
from skillwire.sources.folder.files import PACKED_STAMP_SIZE, UNSETTLED, OutOfRangeError, Stamp, packed
from skillwire.sources.folder.last_good import LastGood, SpillFile
from skillwire.sources.folder.listing import Folder, join_location
from skillwire.sources.folder.skill_folder import EMPTY_MAPPING, SkillDraft, SkillFolder

_FORMAT_VERSION = f"skillwire folder 4, {__version__}"
"""The version of the cache format.

It includes the program's version, because versions may read frontmatter differently.
"""
_MAX_BYTES = 256 * 1024 * 1024
_FIELD_SEPARATOR = b"\t"
"""The separator between a plain skill's path and its row.

JSON escapes this character, so neither part contains it.
"""
_ERRORS = (OSError, orjson.JSONDecodeError, IndexError, KeyError, TypeError, ValueError)


class CachedSkill(NamedTuple):
    """A plain skill, and the stamps of all files and folders from which it was read."""

    draft: SkillDraft
    entry_count: int
    """Number of files and folders in the skill's folder, at any depth."""
    stamps: bytes
    """Packed stamps of the skill's folder, its subfolders and its files, in the order of the draft."""

    @classmethod
    def of(
        cls, draft: SkillDraft, entry_count: int, folders: Iterable[bytes], files: Iterable[bytes]
    ) -> "CachedSkill":
        """Return the skill with packed stamps of its folders, the skill's folder first, and its files."""
        return cls(draft, entry_count, b"".join((*folders, *files)))

    def as_skill_folder(self, folder: Folder) -> SkillFolder:
        """Return the skill folder that a scan of `folder` would find."""
        return SkillFolder(
            folder,
            (self.draft,),
            (),
            entered_all=True,
            entry_count=self.entry_count,
            fallbacks=EMPTY_MAPPING,
        )

    def is_current(self) -> bool:
        """Return whether every file and folder still has the same stamp."""
        location = self.draft.location
        inside = chain(self.draft.directories, (file.path for file in self.draft.files))
        try:
            found = [packed(os.lstat(location))]
            found.extend([packed(os.lstat(f"{location}/{path}")) for path in inside])
        except (OSError, OutOfRangeError):
            return False
        return b"".join(found) == self.stamps

    def distrust_stamps(self, where: Locations) -> "CachedSkill":
        """Return the same skill with the stamps of files at these locations marked as unsettled."""
        known, location = self.known_files(), self.draft.location
        if where.isdisjoint(f"{location}/{path}" for path in known):
            return self
        stamps = (UNSETTLED if f"{location}/{path}" in where else each for path, (each, _) in known.items())
        return self._replace(stamps=b"".join((self.stamps[: -len(known) * PACKED_STAMP_SIZE], *stamps)))

    def known_files(self) -> dict[str, tuple[bytes, SkillFile]]:
        """Return the packed stamp and the record of each file, by path."""
        stamps = self.stamps[(1 + len(self.draft.directories)) * PACKED_STAMP_SIZE :]
        return {
            file.path: (stamps[at : at + PACKED_STAMP_SIZE], file)
            for at, file in zip(range(0, len(stamps), PACKED_STAMP_SIZE), self.draft.files, strict=True)
        }


class ScanCache:
    """The cache file of one root. Each cached skill is returned once, and then dropped from memory."""

    def __init__(self, cache: Path, root: Path, limits: Limits) -> None:
        self._root = os.path.realpath(root)
        self._limits = limits
        name = hashlib.sha256(os.fsencode(self._root)).hexdigest()[:32]
        self._file = cache / f"{name}.jsonl"
        self._skills: dict[bytes, bytes] = {}

    def load(self) -> None:
        """Read the cache file, if there is one.

        The cache stays empty if the file is damaged, too large, or from another version or other limits.
        """
        with suppress(*_ERRORS):
            if self._file.stat().st_size > _MAX_BYTES:
                return
            head, _, body = self._file.read_bytes().partition(b"\n")
            if orjson.loads(head) != self._head(body):
                return
            lines = body.split(b"\n")
            self._skills = {
                path: row for path, _, row in (line.partition(_FIELD_SEPARATOR) for line in lines)
            }

    def find_cached(self, path: str, spill_file: SpillFile | None) -> CachedSkill | None:
        """Return the plain skill in the folder at `path`, and drop it from the cache; None if it is missing.

        With `spill_file`, the content of its `SKILL.md` can be used as the last good version.
        """
        row = self._skills.pop(orjson.dumps(path), b"")
        try:
            return self._parse_plain_skill(path, orjson.loads(row), spill_file) if row else None
        except _ERRORS:
            return None

    def facts(self, spill_file: SpillFile | None) -> dict[str, KnownFile]:
        """Return the cached facts about the files in skill folders that are not plain, by location."""
        row = self._skills.pop(b"", b"")
        try:
            files: list[list[Any]] = orjson.loads(row) if row else []
            return dict(_parse_known_file(self._root, each, spill_file) for each in files)
        except _ERRORS:
            return {}

    def save(self, plain: Mapping[str, CachedSkill], known: Mapping[str, KnownFile]) -> None:
        """Write the cache file. If this fails, the next start reads everything."""
        inside = join_location(self._root, "")
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
            body = b"\n".join(chain(_lines(plain), [_FIELD_SEPARATOR + orjson.dumps(files)]))
            if len(body) < _MAX_BYTES:
                self._write(orjson.dumps(self._head(body)) + b"\n" + body)

    def _write(self, content: bytes) -> None:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_abandoned(self._file.parent)
        replace_file(self._file, content, private=True, durable=False)

    def _head(self, body: bytes) -> list[Any]:
        return [_FORMAT_VERSION, self._root, list(astuple(self._limits)), hashlib.sha256(body).hexdigest()]

    def _parse_plain_skill(self, path: str, row: list[Any], spill_file: SpillFile | None) -> CachedSkill:
        entry_count, packed, directories, paths, kinds, sizes, runnable, frontmatter = row
        stamps, digests = map(a2b_base64, packed)
        location = join_location(self._root, path) if path else self._root
        starts = range(0, len(digests), DIGEST_LENGTH)
        listed = [
            SkillFile(intern(file), intern(kind), Digest.from_raw(digests[at : at + DIGEST_LENGTH]), size)
            for file, kind, at, size in zip(paths, kinds, starts, sizes, strict=True)
        ]
        number: int
        for number in runnable:
            listed[number] = replace(listed[number], executable=True)
        main = listed[0]
        draft = SkillDraft(
            below="",
            location=location,
            where=f"{path}/{SKILL_FILE}" if path else SKILL_FILE,
            document=SkillDocument(frontmatter, ()),
            files=tuple(listed),
            directories=tuple(map(intern, directories)),
            warnings=(),
            stored=EMPTY_MAPPING,
            last_good=_make_last_good(
                join_location(location, SKILL_FILE), main.size, main.digest, spill_file
            ),
        )
        return CachedSkill(draft, entry_count, stamps)


def _lines(plain: Mapping[str, CachedSkill]) -> Iterator[bytes]:
    """Yield a line for each plain skill. The next start reads a `SKILL.md` with problems again."""
    for path, known in plain.items():
        if not path.isprintable():
            continue
        draft, no_problems = known.draft, _has_no_problems(known.draft.document)
        if not no_problems:
            known = known.distrust_stamps(frozenset({f"{draft.location}/{SKILL_FILE}"}))  # noqa: PLW2901
        digests = b"".join(file.digest.raw for file in draft.files)
        row = [
            known.entry_count,
            [b2a_base64(each, newline=False).decode() for each in (known.stamps, digests)],
            draft.directories,
            [file.path for file in draft.files],
            [file.mime_type for file in draft.files],
            [file.size for file in draft.files],
            [number for number, file in enumerate(draft.files) if file.executable],
            draft.document.frontmatter if no_problems else None,
        ]
        yield orjson.dumps(path) + _FIELD_SEPARATOR + orjson.dumps(row)


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
