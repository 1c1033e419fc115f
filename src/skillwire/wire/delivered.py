"""A skill that came as an archive: its files, unpacked within bounds and compared with its entry."""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from skillwire.model.digest import Digest
from skillwire.model.limits import Limits
from skillwire.model.uri import SKILL_FILE
from skillwire.wire.archive_rules import ArchiveBounds, ArchiveError
from skillwire.wire.findings import Fault, Finding, FindingError
from skillwire.wire.remote import RemoteDelivery, RemoteSkill
from skillwire.wire.unpacking import unpack
from skillwire.wire.verify import frontmatter_faults


def delivery_faults(delivery: RemoteDelivery, content: bytes) -> Iterator[Finding]:
    """Yield how `content` differs from what the index says of it."""
    if delivery.digest is not None and (found := Digest.of(content)) != delivery.digest:
        told = f"it was listed as {delivery.digest} and is {found}"
        yield Finding(delivery.uri, Fault.DIGEST, told)


def unpack_skill(
    skill: RemoteSkill, archive: RemoteDelivery, content: bytes, limits: Limits
) -> dict[str, bytes]:
    """Return the files of a skill by their paths. Raises `FindingError` unless all is as it should be.

    The digest is compared before anything is unpacked, and the document with the entry before anything is
    returned.
    """
    assert archive.form is not None
    for fault in delivery_faults(archive, content):
        raise FindingError(fault)
    try:
        files = unpack(content, archive.form, ArchiveBounds(limits.bytes, limits.files))
    except ArchiveError as error:
        raise FindingError(Finding(archive.uri, Fault.ARCHIVE, f"the archive {error}")) from error
    for fault in _document_faults(skill, archive, files):
        raise FindingError(fault)
    return files


def path_in(skill: RemoteSkill, uri: str) -> str | None:
    """Return the path of the file at `uri` in the folder of its skill; None if it is elsewhere."""
    below = f"{skill.root}/"
    return unquote(uri.removeprefix(below)) if uri.startswith(below) else None


def _document_faults(
    skill: RemoteSkill, archive: RemoteDelivery, files: Mapping[str, bytes]
) -> Iterator[Finding]:
    document = files.get(SKILL_FILE)
    if document is None:
        told = f"the archive has no `{SKILL_FILE}` at its root"
        yield Finding(archive.uri, Fault.ARCHIVE, told)
        return
    if skill.document is not None:
        for fault in delivery_faults(skill.document, document):
            told = f"the `{SKILL_FILE}` in the archive is another than the one beside it"
            yield Finding(archive.uri, fault.fault, told)
    yield from frontmatter_faults(skill, document)
