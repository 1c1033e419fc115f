"""Parse a server's index `skill://index.json`, as defined in two early drafts.

In draft B (June 2026), an entry contains the whole frontmatter, and lists archives beside the `SKILL.md`. In
draft A (April 2026), an entry contains a name, a description and one delivery. One index may follow both
drafts, because both ignore unknown fields. Such an index is read as draft B. Entries with the same skill path
are one skill with several deliveries.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import orjson

from skillwire.core.json_text import JsonTooLargeError, json_equal, load_bounded_json
from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Digest, Json
from skillwire.protocol.claims import (
    DeliveryClaim,
    Dialect,
    SkillClaim,
    frontmatter_faults,
    is_object,
    is_uri_text,
    scheme_faults,
    uri_faults,
)
from skillwire.protocol.delivery import Delivery, detect_archive_format, remove_archive_suffix
from skillwire.protocol.drafts import INDEX_URI
from skillwire.protocol.findings import Findings, server_problem
from skillwire.protocol.templates import ListedTemplates, is_index_template
from skillwire.safe_text import quoted

MAX_INDEXED = 20_000
_MAX_VALUES = 300_000
"""Maximum number of JSON values in an index."""
_MAX_ARCHIVES = 16


@dataclass(slots=True)
class DraftIndex:
    """The parsed index: the valid skills, each once, the templates, and the problems."""

    dialect: Dialect
    skills: dict[str, SkillClaim] = field(default_factory=dict[str, SkillClaim])
    """Skills by the URI of their `SKILL.md`."""
    findings: Findings = field(default_factory=Findings)
    complete: bool = True
    templates: ListedTemplates = field(default_factory=ListedTemplates)
    """Templates for skills with parameters in their URIs."""


def read_draft_index(content: bytes) -> DraftIndex:
    """Parse an index as draft B or, if it has no entries of draft B, as draft A. Never raises."""
    try:
        document = load_bounded_json(content, max_values=_MAX_VALUES)
    except JsonTooLargeError as error:
        return _failed_index(str(error), Rule.LIST_ENDLESS)
    except orjson.JSONDecodeError as error:
        return _failed_index(f"it is not JSON: {error}")
    listed: object = document.get("skills") if is_object(document) else None
    if not isinstance(listed, list):
        return _failed_index("it has no list `skills`")
    entries = cast("list[object]", listed)
    index = _read(entries, Dialect.DRAFT_B)
    return index if index.skills or _has_entry_of_draft_b(entries) else _read(entries, Dialect.DRAFT_A)


def _failed_index(message: str, fault: Rule = Rule.LIST_SHAPE) -> DraftIndex:
    index = DraftIndex(Dialect.DRAFT_B, complete=fault is not Rule.LIST_ENDLESS)
    index.findings.add(server_problem(INDEX_URI, fault, message))
    return index


def _has_entry_of_draft_b(entries: list[object]) -> bool:
    return any(is_object(entry) and "frontmatter" in entry for entry in entries)


def _read(entries: list[object], dialect: Dialect) -> DraftIndex:
    index = DraftIndex(dialect)
    later: list[SkillClaim] = []
    for value in entries[:MAX_INDEXED]:
        if is_index_template(value):
            index.templates.take(value, dialect, "url")
            continue
        if dialect is Dialect.DRAFT_B and _is_of_draft_a(value):
            later += [skill for skill in (_parse_entry_a(value),) if isinstance(skill, SkillClaim)]
            continue
        parsed = _parse_entry_b(value) if dialect is Dialect.DRAFT_B else _parse_entry_a(value)
        if isinstance(parsed, SkillClaim):
            _merge_skill(index, parsed)
        elif parsed is not None:
            index.findings.add(*parsed)
    for skill in later:  # entries of draft A may repeat entries of draft B
        if skill.uri not in index.skills:
            message = "its entry is in the format of draft A, in an index of draft B; it is left out"
            index.findings.add(server_problem(skill.uri, Rule.ENTRY_SHAPE, message))
    if (more := len(entries) - MAX_INDEXED) > 0:
        message = f"it has {more:,} entries more than {MAX_INDEXED:,}; they are ignored"
        index.findings.add(server_problem(INDEX_URI, Rule.LIST_ENDLESS, message))
        index.complete = False
    return index


def _is_of_draft_a(value: object) -> bool:
    return is_object(value) and "frontmatter" not in value and isinstance(value.get("type"), str)


def _merge_skill(index: DraftIndex, skill: SkillClaim) -> None:
    """Add a skill to the index, or its new deliveries if the index has the skill with the same frontmatter.

    Add a finding for an entry that repeats or contradicts an earlier entry.
    """
    known = index.skills.setdefault(skill.uri, skill)
    if known is skill:
        return
    if not json_equal(dict(known.frontmatter), dict(skill.frontmatter)):
        message = "two entries with the same path differ; the first one is used"
        index.findings.add(server_problem(skill.uri, Rule.ENTRY_TWICE, message))
        return
    taken = {each.form for each in known.deliveries}
    if any(each.form in taken for each in skill.deliveries):
        index.findings.add(server_problem(skill.uri, Rule.ENTRY_TWICE, "it is listed twice"))
    more = tuple(each for each in skill.deliveries if each.form not in taken)
    index.skills[skill.uri] = replace(known, deliveries=(*known.deliveries, *more))


def _parse_entry_b(value: object) -> SkillClaim | list[Problem]:
    if not is_object(value):
        return [server_problem(INDEX_URI, Rule.ENTRY_SHAPE, "an entry is not an object")]
    url, listed = value.get("url"), value.get("archives", [])
    if not isinstance(listed, list) or len(cast("list[object]", listed)) > _MAX_ARCHIVES:
        return [server_problem(_place(url), Rule.ENTRY_SHAPE, "`archives` is not a list, or is too long")]
    found: list[Problem] = []
    deliveries: list[DeliveryClaim] = []
    if url is not None:
        document = _document(url, value.get("digest"), required=True)
        (deliveries if isinstance(document, DeliveryClaim) else found).append(cast("Any", document))
    root = url.removesuffix(f"/{SKILL_FILE}") if isinstance(url, str) else None
    for each in cast("list[object]", listed):
        archive = _archive(each, root)
        if isinstance(archive, Problem):
            found.append(archive)
        elif archive is not None and all(known.form is not archive.form for known in deliveries):
            deliveries.append(archive)
            root = remove_archive_suffix(archive.uri) if root is None else root
    if not found and not deliveries:
        message = "it has neither a `url` nor an archive that is a tar.gz or zip file"
        found.append(server_problem(_place(url), Rule.ENTRY_URI, message))
    if found or root is None:
        return found
    return _skill(root, value.get("frontmatter"), deliveries, Dialect.DRAFT_B)


def _parse_entry_a(value: object) -> SkillClaim | list[Problem] | None:
    """Return the skill in an entry of draft A, its problems, or None if the entry's type is not supported."""
    if not is_object(value):
        return [server_problem(INDEX_URI, Rule.ENTRY_SHAPE, "an entry is not an object")]
    url = value.get("url")
    match value.get("type"):
        case Delivery.SKILL_MD:
            delivery = _document(url, value.get("digest"), required=False)
        case Delivery.ARCHIVE:
            delivery = _archive({"url": url, "digest": value.get("digest")}, None, required=False)
        case str():
            return None
        case _:
            return [server_problem(_place(url), Rule.ENTRY_SHAPE, "the `type` is not text")]
    if delivery is None:
        return [server_problem(_place(url), Rule.ARCHIVE, "it is neither a tar.gz nor a zip file")]
    if isinstance(delivery, Problem):
        return [delivery]
    archived = delivery.form is not None
    root = remove_archive_suffix(delivery.uri) if archived else delivery.uri.removesuffix(f"/{SKILL_FILE}")
    frontmatter = {key: value[key] for key in ("name", "description") if key in value}
    return _skill(root, frontmatter, [delivery], Dialect.DRAFT_A)


def _skill(
    root: str, frontmatter: object, deliveries: list[DeliveryClaim], dialect: Dialect
) -> SkillClaim | list[Problem]:
    uri = f"{root}/{SKILL_FILE}"
    if found := list(frontmatter_faults(uri, frontmatter)):
        return found
    return SkillClaim(uri, cast("Mapping[str, Json]", frontmatter), None, dialect, tuple(deliveries))


def _document(url: object, digest: object, *, required: bool) -> DeliveryClaim | Problem:
    if not is_uri_text(url):
        return server_problem(
            INDEX_URI, Rule.ENTRY_URI, "the `url` of an entry is missing, not text, or too long"
        )
    return next(uri_faults(url), None) or _delivery(DeliveryClaim(url), digest, required=required)


def _archive(value: object, root: str | None, *, required: bool = True) -> DeliveryClaim | Problem | None:
    """Return the delivery of an archive, or its problem, or None for an unsupported archive format."""
    if not is_object(value) or not is_uri_text(url := value.get("url")):
        message = "the `url` of an archive is missing, not text, or too long"
        return server_problem(INDEX_URI, Rule.ENTRY_URI, message)
    if fault := next(_archive_faults(url, root), None):
        return fault
    mime_type = value.get("mimeType")
    form = detect_archive_format(url, mime_type if isinstance(mime_type, str) else "")
    if form is None:
        return None
    return _delivery(DeliveryClaim(url, form=form), value.get("digest"), required=required)


def _archive_faults(url: str, root: str | None) -> Iterator[Problem]:
    yield from scheme_faults(url)
    if root is not None and remove_archive_suffix(url) != root:
        yield server_problem(url, Rule.ENTRY_URI, f"the archive is not beside {quoted(root)}")


def _delivery(delivery: DeliveryClaim, digest: object, *, required: bool) -> DeliveryClaim | Problem:
    if digest is None and not required:
        return delivery
    parsed = Digest.parse(digest) if isinstance(digest, str) else None
    if parsed is None:
        return server_problem(
            delivery.uri, Rule.ENTRY_RESOURCES, "the `digest` is not `sha256:` and 64 hex digits"
        )
    return replace(delivery, digest=parsed)


def _place(url: object) -> str:
    return url if is_uri_text(url) else INDEX_URI
