"""Check bytes, frontmatter and archives against the entry that lists them (H13, H15)."""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from skillwire.core.json_text import json_equal
from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Digest, Limits
from skillwire.errors import VerificationError
from skillwire.frontmatter.document import read_document
from skillwire.protocol.archive_rules import ArchiveBounds, ArchiveError
from skillwire.protocol.findings import server_problem
from skillwire.protocol.remote import DeliveryClaim, FileClaim, SkillClaim
from skillwire.protocol.unpacking import unpack
from skillwire.safe_text import quoted

_SHOWN_FIELD = 64


def file_faults(file: FileClaim, content: bytes) -> Iterator[Problem]:
    """Yield how `content` differs from what was listed."""
    if file.size is not None and len(content) != file.size:
        message = f"it was listed with {file.size:,} bytes and has {len(content):,}"
        yield server_problem(file.uri, Rule.SIZE, message)
    if (found := Digest.of(content)) != file.digest:
        yield server_problem(file.uri, Rule.DIGEST, f"it was listed as {file.digest} and is {found}")


def frontmatter_faults(skill: SkillClaim, document: bytes) -> Iterator[Problem]:
    """Yield every field in which a `SKILL.md` differs from the entry (H13).

    In a dialect that lists only some fields, only those are compared.
    """
    read = read_document(document, skill.uri, None)
    if read.frontmatter is None:
        message = f"its frontmatter cannot be read: {read.problems[0].message}"
        yield server_problem(skill.uri, Rule.FRONTMATTER, message)
        return
    listed = skill.frontmatter.keys()
    for key in sorted(listed | read.frontmatter.keys() if skill.dialect.has_full_frontmatter else listed):
        if key not in skill.frontmatter:
            yield server_problem(
                skill.uri, Rule.FRONTMATTER, f"the entry leaves out the field {_format_key(key)}"
            )
        elif key not in read.frontmatter:
            yield server_problem(
                skill.uri,
                Rule.FRONTMATTER,
                f"the document has no field {_format_key(key)}, but the entry has",
            )
        elif not json_equal(read.frontmatter[key], skill.frontmatter[key]):
            yield server_problem(
                skill.uri, Rule.FRONTMATTER, f"the field {_format_key(key)} differs from the document"
            )


def _format_key(key: str) -> str:
    """Return the name of a field, shortened: a server may choose a very long one."""
    return quoted(key, _SHOWN_FIELD)


def delivery_faults(delivery: DeliveryClaim, content: bytes) -> Iterator[Problem]:
    """Yield how `content` differs from what the index lists."""
    if delivery.digest is not None and (found := Digest.of(content)) != delivery.digest:
        message = f"it was listed as {delivery.digest} and is {found}"
        yield server_problem(delivery.uri, Rule.DIGEST, message)


def unpack_skill(
    skill: SkillClaim, archive: DeliveryClaim, content: bytes, limits: Limits
) -> dict[str, bytes]:
    """Return the files of a skill by path, or raise `VerificationError` if anything is wrong.

    The digest is checked before anything is unpacked. The document is compared with the entry before anything
    is returned.
    """
    assert archive.form is not None
    for fault in delivery_faults(archive, content):
        raise VerificationError("", fault)
    try:
        files = unpack(content, archive.form, ArchiveBounds(limits.bytes, limits.files))
    except ArchiveError as error:
        raise VerificationError(
            "", server_problem(archive.uri, Rule.ARCHIVE, f"the archive {error}")
        ) from error
    for fault in _document_faults(skill, archive, files):
        raise VerificationError("", fault)
    return files


def relative_path(skill: SkillClaim, uri: str) -> str | None:
    """Return the path of the file at `uri` relative to the skill's folder, or None if it is elsewhere."""
    below = f"{skill.root}/"
    return unquote(uri.removeprefix(below)) if uri.startswith(below) else None


def _document_faults(
    skill: SkillClaim, archive: DeliveryClaim, files: Mapping[str, bytes]
) -> Iterator[Problem]:
    document = files.get(SKILL_FILE)
    if document is None:
        message = f"the archive has no `{SKILL_FILE}` at its root"
        yield server_problem(archive.uri, Rule.ARCHIVE, message)
        return
    if skill.document is not None:
        for fault in delivery_faults(skill.document, document):
            message = f"the `{SKILL_FILE}` in the archive differs from the one beside it"
            yield server_problem(archive.uri, fault.rule, message)
    yield from frontmatter_faults(skill, document)
