"""Check files, frontmatter and archives against entries (H13, H15), and derive files from archives."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from urllib.parse import unquote

from skillwire.core.json_text import json_equal
from skillwire.core.names import SKILL_FILE, file_uri
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Digest, Limits
from skillwire.errors import VerificationError
from skillwire.frontmatter.document import read_document
from skillwire.protocol.archive_rules import ArchiveBounds, ArchiveError, UnpackedFiles
from skillwire.protocol.claims import DeliveryClaim, FileClaim, SkillClaim
from skillwire.protocol.claims import frontmatter_faults as claim_frontmatter_faults
from skillwire.protocol.findings import server_problem
from skillwire.protocol.unpacking import unpack_with_modes
from skillwire.safe_text import quoted

_SHOWN_FIELD = 64


def file_faults(file: FileClaim, content: bytes) -> Iterator[Problem]:
    """Yield a problem if the size of `content` differs from the listed size, and one for the digest."""
    if file.size is not None and len(content) != file.size:
        message = f"it was listed with {file.size:,} bytes and has {len(content):,}"
        yield server_problem(file.uri, Rule.SIZE, message)
    if (found := Digest.of(content)) != file.digest:
        yield server_problem(file.uri, Rule.DIGEST, f"it was listed as {file.digest} and is {found}")


def frontmatter_faults(skill: SkillClaim, document: bytes) -> Iterator[Problem]:
    """Yield a problem for each frontmatter field in which a `SKILL.md` differs from its entry (H13).

    If the entry has only some fields, only those are compared. Unreadable frontmatter is one problem.
    """
    read = read_document(document, skill.uri, None)
    if read.frontmatter is None:
        message = f"its frontmatter cannot be read: {read.problems[0].message}"
        yield server_problem(skill.uri, Rule.FRONTMATTER, message)
        return
    listed = skill.frontmatter.keys()
    for key in sorted(listed | read.frontmatter.keys() if skill.has_whole_frontmatter else listed):
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
    """Shorten the name of a field, because a server may choose a very long name."""
    return quoted(key, _SHOWN_FIELD)


def delivery_faults(delivery: DeliveryClaim, content: bytes) -> Iterator[Problem]:
    """Yield a problem if a digest is listed for a delivery, and `content` has another digest."""
    if delivery.digest is not None and (found := Digest.of(content)) != delivery.digest:
        message = f"it was listed as {delivery.digest} and is {found}"
        yield server_problem(delivery.uri, Rule.DIGEST, message)


def unpack_delivery(archive: DeliveryClaim, content: bytes, limits: Limits) -> UnpackedFiles:
    """Return the files in an archive. A listed digest is checked before the archive is unpacked.

    Raises `VerificationError` if the digest differs, or if the archive is invalid or exceeds `limits`.
    """
    assert archive.form is not None
    for fault in delivery_faults(archive, content):
        raise VerificationError("", fault)
    try:
        return unpack_with_modes(content, archive.form, ArchiveBounds(limits.bytes, limits.files))
    except ArchiveError as error:
        raise VerificationError(
            "", server_problem(archive.uri, Rule.ARCHIVE, f"the archive {error}")
        ) from error


def derive_files(skill: SkillClaim, archive: DeliveryClaim, unpacked: UnpackedFiles) -> SkillClaim:
    """Return `skill` with the frontmatter and the files from its archive, and the digest of each file.

    The result depends only on the claim and the bytes of the archive. Raises `VerificationError` if the
    archive has no valid `SKILL.md`, or one that differs from the entry.
    """
    for fault in document_faults(skill, archive, unpacked.files):
        raise VerificationError("", fault)
    frontmatter = read_document(unpacked.files[SKILL_FILE], skill.uri, None).frontmatter
    for fault in claim_frontmatter_faults(skill.uri, frontmatter):
        raise VerificationError("", fault)
    files = tuple(
        FileClaim(
            skill.uri if path == SKILL_FILE else file_uri(skill.root, path),
            Digest.of(content),
            len(content),
            path in unpacked.executable,
        )
        for path, content in sorted(unpacked.files.items())
    )
    return replace(skill, files=files, frontmatter=frontmatter or {}, archive=archive)


def with_derived_files(listed: SkillClaim, derived: SkillClaim) -> SkillClaim | None:
    """Return `listed` with the files, frontmatter and archive of `derived`, or None if the two do not match.

    The two match if `listed` has the same URI and still lists the archive of `derived`, and if its
    frontmatter and the digest of its `SKILL.md` do not contradict `derived`.
    """
    main = derived.main
    if main is None or derived.archive is None or derived.archive not in listed.deliveries:
        return None
    document = listed.document
    if listed.uri != derived.uri or (document and document.digest not in {None, main.digest}):
        return None
    whole = dict(derived.frontmatter)
    if not listed.dialect.has_full_frontmatter:
        whole = {key: whole[key] for key in listed.frontmatter if key in whole}
    if not json_equal(whole, dict(listed.frontmatter)):
        return None
    return replace(listed, files=derived.files, frontmatter=derived.frontmatter, archive=derived.archive)


def relative_path(skill: SkillClaim, uri: str) -> str | None:
    """Return the path of the file at `uri` relative to the skill's folder, or None if it is outside."""
    below = f"{skill.root}/"
    return unquote(uri.removeprefix(below)) if uri.startswith(below) else None


def document_faults(
    skill: SkillClaim, archive: DeliveryClaim, files: Mapping[str, bytes]
) -> Iterator[Problem]:
    """Yield a problem if an archive has no `SKILL.md`, or for each difference from the skill's entry."""
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
