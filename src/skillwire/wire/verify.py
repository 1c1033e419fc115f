"""Whether bytes are what an entry promised: size, digest, and the frontmatter of the document (H13, H15)."""

from collections.abc import Iterator

from skillwire.model.digest import Digest
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.skillmd.document import read_document
from skillwire.wire.findings import Fault, Finding
from skillwire.wire.remote import RemoteFile, RemoteSkill

_SHOWN_FIELD = 64


def file_faults(file: RemoteFile, content: bytes) -> Iterator[Finding]:
    """Yield how `content` differs from what was listed."""
    if file.size is not None and len(content) != file.size:
        told = f"it was listed with {file.size:,} bytes and has {len(content):,}"
        yield Finding(file.uri, Fault.SIZE, told)
    if (found := Digest.of(content)) != file.digest:
        yield Finding(file.uri, Fault.DIGEST, f"it was listed as {file.digest} and is {found}")


def frontmatter_faults(skill: RemoteSkill, document: bytes) -> Iterator[Finding]:
    """Yield every field in which a `SKILL.md` says something else than the entry (H13).

    In a dialect that tells only some fields, those are compared.
    """
    read = read_document(document, skill.uri, None)
    if read.frontmatter is None:
        told = f"its frontmatter cannot be read: {read.problems[0].message}"
        yield Finding(skill.uri, Fault.FRONTMATTER, told)
        return
    told_keys = skill.frontmatter.keys()
    for key in sorted(told_keys | read.frontmatter.keys() if skill.dialect.tells_frontmatter else told_keys):
        if key not in skill.frontmatter:
            yield Finding(skill.uri, Fault.FRONTMATTER, f"the entry leaves out the field {_named(key)}")
        elif key not in read.frontmatter:
            yield Finding(
                skill.uri, Fault.FRONTMATTER, f"the document has no field {_named(key)}, and the entry has"
            )
        elif not same(read.frontmatter[key], skill.frontmatter[key]):
            yield Finding(
                skill.uri, Fault.FRONTMATTER, f"the field {_named(key)} is not what the document says"
            )


def _named(key: str) -> str:
    """Return the name of a field, which may be a whole sermon."""
    return quoted(key, _SHOWN_FIELD)


def same(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal: a number is one however it is written, and never a boolean."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return (type(one) is type(other) and one == other) or _both_numbers(one, other)


def _both_numbers(one: Json, other: Json) -> bool:
    return isinstance(one, (int, float)) and isinstance(other, (int, float)) and one == other
