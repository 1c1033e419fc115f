"""Resources for clients without the final Skills extension: the index of its early drafts, and manifests."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

import anyio.to_thread

from skillwire.core.json_text import json_bytes
from skillwire.core.mime import JSON
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Json, LiveFile, SkillFile, SkillRecord
from skillwire.errors import NotServedError
from skillwire.features.content import with_meta
from skillwire.features.resources import Document, UnlistedResources
from skillwire.library.catalog import Catalog, enclosing_skills
from skillwire.library.change import Change, Edit
from skillwire.library.library import Library
from skillwire.protocol.drafts import INDEX_URI, DraftArchive, draft_index
from skillwire.protocol.messages import MANIFEST
from skillwire.protocol.translate import contents
from skillwire.safe_text import quoted

if TYPE_CHECKING:
    from skillwire.features.archives import SkillArchives

_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_UNESCAPED_IN_PATH, _UNESCAPED_IN_QUERY, _UNESCAPED_IN_FRAGMENT = (
    "".join(set(_VISIBLE).difference(escaped)) for escaped in ('"<>`{}', '"<>', '"<>`')
)
"""Characters, including `%`, that a URL parser does not escape in each part of a URL (WHATWG)."""
_UNESCAPED_IN_COMPONENT = "/!'()*"
"""Characters that JavaScript's `encodeURIComponent`, applied to each path segment, does not escape."""


class DraftIndexDocument(Document):
    """The index of skills, as defined in early drafts. Rendered once for each catalog."""

    uri = INDEX_URI
    name = "index.json"
    description = "The skills of this server, for hosts that do not support the Skills extension yet"
    mime_type = JSON

    def __init__(self, archives: "SkillArchives | None" = None, *, list_nonconforming: bool = False) -> None:
        self._archives = archives
        self._list_nonconforming = list_nonconforming
        self._last: tuple[Catalog, bytes] | None = None

    def listed(self, catalog: Catalog) -> bool:  # noqa: ARG002 - even an empty index is listed
        return True

    def differs(self, change: Change) -> bool:
        before, after = change.before.nonconforming, change.after.nonconforming
        if change.has_template_changes or before.keys() != after.keys():
            return True
        return any(self._indexed_differently(edit) for edit in change.edits)

    async def render(self, catalog: Catalog) -> bytes:
        if self._last is None or self._last[0] is not catalog:
            left_out = frozenset[str]() if self._list_nonconforming else catalog.nonconforming.keys()
            entries = [entry for uri, entry in catalog.entries.items() if uri not in left_out]
            skills = [(entry, await self._archived(entry)) for entry in entries]
            index = await anyio.to_thread.run_sync(draft_index, skills, catalog.templates)
            self._last = catalog, index
            return index
        return self._last[1]

    async def _archived(self, entry: SkillRecord) -> Sequence[DraftArchive]:
        return () if self._archives is None else await self._archives.of(entry)

    def _indexed_differently(self, edit: Edit) -> bool:
        if edit.before is None or edit.after is None or self._archives is not None:
            return True
        before, after = edit.before, edit.after
        return (before.frontmatter, before.shown_as) != (after.frontmatter, after.shown_as) or (
            before.files[0] != after.files[0]
        )


class SkillManifests(UnlistedResources):
    """Every skill's manifest, and the skill's files at URIs that older clients escape differently."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def serves(self, uri: str) -> bool:
        return self.find_owner(uri) is not None

    def find_owner(self, uri: str) -> SkillRecord | None:
        if (entry := self._listed_at(uri)) is not None:
            return entry
        found = self._find_respelled(uri)
        return None if found is None else found[0]

    async def read(self, uri: str) -> list[Json]:
        if (entry := self._listed_at(uri)) is not None:
            if fault := _fault(entry):
                raise NotServedError(uri, "manifest", fault)
            return [contents(uri, JSON, _manifest(entry))]
        if (found := self._find_respelled(uri)) is None:
            raise NotServedError(uri)
        entry, file = found
        reading = await self._library.read(entry.uri_of(file.path))
        block = contents(uri, reading.served.file.mime_type, reading.content)
        return [with_meta(block, reading.served.entry)]

    def updated_uris(self, change: Change) -> Collection[str]:
        entries = [entry for edit in change.edits for entry in edit.entries]
        manifests = {f"{entry.root}/{MANIFEST}" for entry in entries}
        respelled = {
            f"{entry.root}/{spelling}"
            for entry in entries
            for file in entry.files
            if entry.uri_of(file.path) in change.uris
            for spelling in _spellings(entry, file)
        }
        return manifests | respelled

    def _listed_at(self, uri: str) -> SkillRecord | None:
        """Return the skill whose manifest has this URI, or None."""
        root = uri.removesuffix(f"/{MANIFEST}")
        return None if root == uri else self._library.catalog.entries.get(f"{root}/{SKILL_FILE}")

    def _find_respelled(self, uri: str) -> tuple[SkillRecord, SkillFile | LiveFile] | None:
        """Return the skill and file whose URI, escaped in another way, is `uri`, or None."""
        catalog = self._library.catalog
        for entry in enclosing_skills(catalog.entries, catalog.above, uri):
            rest = uri[len(entry.root) + 1 :]
            for file in () if entry.dynamic else entry.files:
                if rest in _spellings(entry, file):
                    return entry, file
        return None


def _manifest(entry: SkillRecord) -> bytes:
    """Return the manifest of a skill. A live file has the size 0 and an empty hash.

    A skill with live files also needs a manifest. Without it, FastMCP's `sync_skills` would fail for all of
    the server's skills.
    """
    return json_bytes({"skill": entry.name, "files": list(map(_listed, entry.files))}, indented=True)


def _listed(file: SkillFile | LiveFile) -> dict[str, Json]:
    if isinstance(file, LiveFile):
        return {"path": file.path, "size": 0, "hash": ""}
    return {"path": file.path, "size": file.size, "hash": file.digest.text}


def _spellings(entry: SkillRecord, file: SkillFile | LiveFile) -> Collection[str]:
    """Return the spellings of a file's path that other clients use in URIs. Empty for most files."""
    if (encoded := quote(file.path)) == file.path:
        return ()
    own = entry.uri_of(file.path)[len(entry.root) + 1 :]
    return {file.path, encoded, quote(file.path, safe=_UNESCAPED_IN_COMPONENT), *_escaped(file.path)} - {own}


def _escaped(path: str) -> Iterator[str]:
    """Yield the path as URL parsers escape it.

    URL parsers end the path at `?` and `#`, and some also escape `^`.
    """
    before, mark, fragment = path.partition("#")
    before, question, query = before.partition("?")
    start = quote(before, safe=_UNESCAPED_IN_PATH)
    rest = (
        question
        + quote(query, safe=_UNESCAPED_IN_QUERY)
        + mark
        + quote(fragment, safe=_UNESCAPED_IN_FRAGMENT)
    )
    yield start + rest
    yield start.replace("^", "%5E") + rest


def _fault(entry: SkillRecord) -> str:
    """Return why clients would read wrong files through the manifest, or `""` if they would not."""
    addresses = {entry.uri_of(file.path): file.path for file in entry.files}
    for file in entry.files:
        path = file.path
        if path.endswith(" ") or _points_elsewhere(path):
            return f"no client of this format can request {quoted(path)}; rename the file"
        for spelling in _spellings(entry, file):
            other = addresses.setdefault(f"{entry.root}/{spelling}", path)
            if other != path:
                message = f"clients of this format cannot distinguish {quoted(path)} from {quoted(other)}"
                return f"{message}; rename one of the two"
    return ""


def _points_elsewhere(path: str) -> bool:
    """Return whether a URL parser would treat a part of the path as `.` or `..`."""
    before = path.partition("#")[0].partition("?")[0]
    return any(part in {".", ".."} for part in before.lower().replace("%2e", ".").split("/"))
