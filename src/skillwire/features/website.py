"""A library as a website: an index, a download for each skill, and every file on its own.

The path of a download contains part of its digest. New downloads are stored beside the old downloads until
the index is replaced. So an index always refers to the bytes for which it was built.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from anyio.lowlevel import checkpoint

from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Digest, SkillRecord
from skillwire.errors import SkillwireError
from skillwire.library.catalog import Catalog
from skillwire.library.library import Library
from skillwire.protocol.archive_rules import ArchiveBounds, ArchiveError
from skillwire.protocol.delivery import Delivery
from skillwire.protocol.discovery import Artifact, render_index
from skillwire.protocol.packing import choose_archive_format, pack_skill
from skillwire.protocol.unpacking import unpack
from skillwire.safe_text import quoted

_DESCRIPTION = 1024
"""Maximum characters of a description in the index."""
_DIGEST_DIGITS = 12
"""Hex digits of the digest in the path of a download."""


@dataclass(frozen=True, slots=True)
class SkippedSkill:
    """A served skill that cannot be published, with the reason and a hint."""

    path: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class PublishableSkills:
    """The skills in a catalog that can be published, and the skipped skills."""

    entries: tuple[SkillRecord, ...]
    left_out: tuple[SkippedSkill, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """The files of one skill on the site, and its entry in the index."""

    artifact: Artifact
    files: Mapping[str, bytes]
    """The download and every file of the skill, by path below the folder of the index."""


def choose_skills(catalog: Catalog) -> PublishableSkills:
    """Return the skills that can be published, ordered by name, and the skipped skills.

    If several skills have the same name, only the first one can be published. Withheld skills are ignored.
    """
    chosen: dict[str, SkillRecord] = {}
    left_out: list[SkippedSkill] = []
    for entry in catalog.entries.values():
        if catalog.visibility.withholds(entry):  # `withheld_report` has the reason
            continue
        if not entry.listed or not entry.description.strip():
            message = "it has no name or no description, which the index requires"
            left_out.append(SkippedSkill(entry.path, message, "write a `name` and a `description`"))
        elif entry.dynamic:
            message = "its content is generated on every read, so there is nothing to publish"
            left_out.append(SkippedSkill(entry.path, message, "serve it with `skillwire serve`"))
        elif (other := chosen.setdefault(entry.name, entry)) is not entry:
            first = quoted(other.path)
            message = f"a site can have only one skill named {quoted(entry.name)}; {first} is published"
            hint = "rename it, or publish its folder as another site"
            left_out.append(SkippedSkill(entry.path, message, hint))
    return PublishableSkills(tuple(chosen[name] for name in sorted(chosen)), tuple(left_out))


async def build_page(library: Library, entry: SkillRecord) -> Page | SkippedSkill:
    """Return a skill's files for the site, verified against the catalog, or why the skill is skipped."""
    try:
        files = await read_skill_files(library, entry)
        artifact, download = build_download(entry, files)
    except SkillwireError as error:
        return left_out(entry, error)
    loose = {f"{entry.name}/{path}": content for path, content in files.items()}
    return Page(artifact, {artifact.url: download, **loose})


def left_out(entry: SkillRecord, error: SkillwireError) -> SkippedSkill:
    """Return why a skill cannot be published because of `error`."""
    if isinstance(error, ArchiveError):
        message = f"clients would reject its archive, which {error}"
        return SkippedSkill(entry.path, message, "rename or remove the file")
    return SkippedSkill(entry.path, f"it cannot be read: {error}", "publish again")


def render_site_index(artifacts: Iterable[Artifact]) -> bytes:
    """Return the index of these downloads."""
    return render_index(sorted(artifacts, key=lambda artifact: artifact.name))


async def read_skill_files(library: Library, entry: SkillRecord) -> dict[str, bytes]:
    """Return the files of a skill by path, with the bytes that `entry` lists. Raises `SkillwireError`."""
    files: dict[str, bytes] = {}
    for file in entry.files:
        uri = entry.uri_of(file.path)
        reading = await library.read(uri)
        # If the catalog has changed, the digest in `entry` is not checked yet.
        checked = reading.served.entry is entry
        files[file.path] = reading.content if checked else file.verify(reading.content, uri)
        await checkpoint()  # a skill can have hundreds of files: let other tasks run
    return files


def build_download(entry: SkillRecord, files: Mapping[str, bytes]) -> tuple[Artifact, bytes]:
    """Return the index entry of a skill's download, and its bytes.

    Raises `ArchiveError` if clients would reject the archive.
    """
    if list(files) == [SKILL_FILE]:
        delivery, content, suffix = Delivery.SKILL_MD, files[SKILL_FILE], f"/{SKILL_FILE}"
    else:
        form = choose_archive_format(files)
        delivery, suffix = Delivery.ARCHIVE, form.suffix
        content = pack_skill(files, form, entry.executable)
        unpack(content, form, ArchiveBounds())  # never publish an archive that Skillwire itself would reject
    digest = Digest.of(content)
    version = digest.text.removeprefix("sha256:")[:_DIGEST_DIGITS]
    url = f"{entry.name}.{version}{suffix}"
    return Artifact(entry.name, delivery, _short(entry.description), url, digest), content


def _short(description: str) -> str:
    """Cut a description to the format's limit, counted in UTF-16 code units as in JavaScript."""
    units = description.encode("utf-16-le", "surrogatepass")
    if len(units) <= _DESCRIPTION * 2:
        return description
    return f"{units[: (_DESCRIPTION - 1) * 2].decode('utf-16-le', 'ignore')}…"
