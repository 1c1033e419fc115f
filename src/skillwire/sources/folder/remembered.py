"""Digests that are kept on disk between two runs, so that a start reads only what has changed.

The file may be lost, old or broken at any time: then everything is read, as if it had never been there. What
it says of a file counts only while the file has the very stamp that it had; and whoever reads a file compares
its bytes with the digest in any case.
"""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import orjson

from skillwire import __version__
from skillwire.model.digest import Digest
from skillwire.model.uri import SKILL_FILE
from skillwire.skillmd.document import SkillDocument
from skillwire.skillmd.fields import Fields
from skillwire.skillmd.rules import check_fields
from skillwire.sources.folder.facts import Facts, Known
from skillwire.sources.folder.kept import Kept
from skillwire.sources.folder.stamp import Stamp

_FORM = f"skillwire digests 1, {__version__}"
"""Another version may read a frontmatter in another way."""
_LARGEST = 256 * 1024 * 1024


class Remembered:
    """The file in which a folder's digests are kept."""

    def __init__(self, cache: Path, root: Path) -> None:
        self._root = os.path.realpath(root)
        name = hashlib.sha256(os.fsencode(self._root)).hexdigest()[:32]
        self._file = cache / f"{name}.jsonl"

    def load(self, *, keep_documents: bool) -> dict[str, Known]:
        """Return what was known at the end of an earlier run; nothing, if anything is wrong with it."""
        try:
            if self._file.stat().st_size > _LARGEST:
                return {}
            with self._file.open("rb") as lines:
                if orjson.loads(next(lines, b"")) != [_FORM, self._root]:
                    return {}
                told = map(orjson.loads, lines)
                return dict(_known(self._root, each, keep_documents=keep_documents) for each in told)
        except (OSError, orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return {}

    def save(self, known: Mapping[str, Known]) -> None:
        """Keep what is known now. Where that cannot be, the next start reads everything."""
        inside = f"{self._root}{os.sep}"
        files = (
            [location[len(inside) :], *stamp, facts.digest.text, facts.mime_type, _frontmatter(facts)]
            for location, (stamp, facts) in known.items()
            if location.startswith(inside) and _is_plain(location, facts)
        )
        with suppress(OSError, orjson.JSONEncodeError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._file.parent, prefix=".half-", delete=False) as half:
                half.writelines(orjson.dumps(each) + b"\n" for each in chain([[_FORM, self._root]], files))
            os.replace(half.name, self._file)  # noqa: PTH105 - whoever reads it meanwhile sees one or the other


def _is_plain(location: str, facts: Facts) -> bool:
    """Whether a file can be told of in one line: a document with problems is read again, and judged anew."""
    return location.isprintable() and (facts.document is None or not facts.document.problems)


def _frontmatter(facts: Facts) -> Any:
    return None if facts.document is None else facts.document.frontmatter


def _known(root: str, told: list[Any], *, keep_documents: bool) -> tuple[str, Known]:
    path, size, modified, changed, inode, device, digest, mime_type, frontmatter = told
    location = f"{root}{os.sep}{path}"
    stamp = Stamp(int(size), int(modified), int(changed), int(inode), int(device))
    folder, _, name = location.rpartition(os.sep)
    if name.upper() != SKILL_FILE.upper():
        return location, (stamp, Facts(Digest(digest), stamp.size, str(mime_type)))
    fields = Fields(dict(frontmatter), {})
    if any(check_fields(fields, path, folder.rpartition(os.sep)[2])):
        raise ValueError("a document that was never written down")
    document = SkillDocument(fields.values, ())
    kept = Kept.unread(location, stamp.size, Digest(digest)) if keep_documents else None
    return location, (stamp, Facts(Digest(digest), stamp.size, str(mime_type), document, kept))
