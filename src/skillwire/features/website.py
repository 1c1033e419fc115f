"""A library as a web site: a download for each skill, an index that names them, and all files to look at.

A download has a piece of its digest in its path. So an index names the bytes that it was made for, for as
long as it stands: what is published next lies beside them, until the index is exchanged.
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
"""Characters that the format allows."""
_TOLD_BY = 12
"""Hex digits of the digest that are in the path of a download."""


@dataclass(frozen=True, slots=True)
class SkippedSkill:
    """A skill that is served, and cannot be published."""

    path: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class PublishableSkills:
    """Which skills of a catalogue a site can hold."""

    entries: tuple[SkillRecord, ...]
    left_out: tuple[SkippedSkill, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A skill on the site."""

    artifact: Artifact
    files: Mapping[str, bytes]
    """The download and every file of the skill, by path below the folder of the index."""


def choose_skills(catalog: Catalog) -> PublishableSkills:
    """Return the skills that can be published. On a site a name means one skill: the first that has it."""
    chosen: dict[str, SkillRecord] = {}
    left_out: list[SkippedSkill] = []
    for entry in catalog.entries.values():
        if catalog.visibility.withholds(entry):  # `withheld_report` says why
            continue
        if not entry.listed or not entry.description.strip():
            message = "an index names each skill with its description, and it has none"
            left_out.append(SkippedSkill(entry.path, message, "write a `name` and a `description`"))
        elif entry.dynamic:
            message = "its content is made anew whenever it is read, so there is nothing to publish"
            left_out.append(SkippedSkill(entry.path, message, "serve it with `skillwire serve`"))
        elif (other := chosen.setdefault(entry.name, entry)) is not entry:
            first = quoted(other.path)
            message = f"a site can hold one skill of the name {quoted(entry.name)}, and {first} is the first"
            hint = "give it a name of its own, or publish its folder as another site"
            left_out.append(SkippedSkill(entry.path, message, hint))
    return PublishableSkills(tuple(chosen[name] for name in sorted(chosen)), tuple(left_out))


async def build_page(library: Library, entry: SkillRecord) -> Page | SkippedSkill:
    """Return what a skill adds to the site: every byte is the one that the catalogue lists."""
    try:
        files = await read_skill_files(library, entry)
        artifact, download = build_download(entry, files)
    except SkillwireError as error:
        return left_out(entry, error)
    loose = {f"{entry.name}/{path}": content for path, content in files.items()}
    return Page(artifact, {artifact.url: download, **loose})


def left_out(entry: SkillRecord, error: SkillwireError) -> SkippedSkill:
    """Return why a skill cannot be published, after `error`."""
    if isinstance(error, ArchiveError):
        message = f"readers would refuse its archive, which {error}"
        return SkippedSkill(entry.path, message, "rename or remove the file")
    return SkippedSkill(entry.path, f"it cannot be read: {error}", "publish again")


def render_site_index(artifacts: Iterable[Artifact]) -> bytes:
    """Return the index that names these downloads."""
    return render_index(sorted(artifacts, key=lambda artifact: artifact.name))


async def read_skill_files(library: Library, entry: SkillRecord) -> dict[str, bytes]:
    """Return the files of a skill by their paths, as it lists them. Raises `SkillwireError`."""
    files: dict[str, bytes] = {}
    for file in entry.files:
        uri = entry.uri_of(file.path)
        reading = await library.read(uri)
        # The listing of now may not be the one of before.
        checked = reading.served.entry is entry
        files[file.path] = reading.content if checked else file.verify(reading.content, uri)
        await checkpoint()  # a skill can have hundreds of files, and others are waiting
    return files


def build_download(entry: SkillRecord, files: Mapping[str, bytes]) -> tuple[Artifact, bytes]:
    """Return what the index says of the download, and the download itself. Raises `ArchiveError`."""
    if list(files) == [SKILL_FILE]:
        delivery, content, suffix = Delivery.SKILL_MD, files[SKILL_FILE], f"/{SKILL_FILE}"
    else:
        form = choose_archive_format(files)
        delivery, suffix = Delivery.ARCHIVE, form.suffix
        content = pack_skill(files, form, entry.executable)
        unpack(content, form, ArchiveBounds())  # what we would not take is not for others either
    digest = Digest.of(content)
    told = digest.text.removeprefix("sha256:")[:_TOLD_BY]
    url = f"{entry.name}.{told}{suffix}"
    return Artifact(entry.name, delivery, _short(entry.description), url, digest), content


def _short(description: str) -> str:
    """Return what fits into the format. JavaScript counts a character beyond the first 65,536 as two."""
    units = description.encode("utf-16-le", "surrogatepass")
    if len(units) <= _DESCRIPTION * 2:
        return description
    return f"{units[: (_DESCRIPTION - 1) * 2].decode('utf-16-le', 'ignore')}…"
