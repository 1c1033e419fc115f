"""Write the index of the extension's early drafts, for hosts that still use these drafts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skillwire.core.json_text import json_bytes
from skillwire.core.record import Digest, Json, SkillFile, SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.protocol.delivery import SCHEMA, TEMPLATE_TYPE, ArchiveFormat, Delivery

INDEX_URI = "skill://index.json"


@dataclass(frozen=True, slots=True)
class DraftArchive:
    """The format and digest of an archive of a skill."""

    form: ArchiveFormat
    digest: Digest


def archive_uri(entry: SkillRecord, form: ArchiveFormat) -> str:
    """Return the URI of a skill's archive, which is beside the skill's folder."""
    return f"{entry.root}{form.suffix}"


def draft_index(
    skills: Iterable[tuple[SkillRecord, Sequence[DraftArchive]]], templates: Iterable[SkillTemplate] = ()
) -> bytes:
    """Return an index of skills and templates for both early drafts. Each ignores fields of the other."""
    listed = [item for entry, archives in skills for item in _items(entry, archives)]
    listed.extend(_template(each) for each in templates)
    document: dict[str, Json] = {"$schema": SCHEMA, "skills": listed}
    return json_bytes(document, indented=True)


def _template(template: SkillTemplate) -> dict[str, Json]:
    return {"type": TEMPLATE_TYPE, "description": template.description, "url": template.uri}


def _items(entry: SkillRecord, archives: Sequence[DraftArchive]) -> list[Json]:
    """Return the entry of a skill for both drafts, and an entry of draft A for each archive."""
    skill: dict[str, Json] = {
        "name": entry.name,
        "type": Delivery.SKILL_MD.value,
        "description": entry.shown_description,
        "url": entry.uri,
    }
    if isinstance(main := entry.files[0], SkillFile):
        skill["digest"] = main.digest.text
    skill["frontmatter"] = dict(entry.frontmatter)
    if archives:
        skill["archives"] = [
            {
                "url": archive_uri(entry, each.form),
                "mimeType": each.form.mime_type,
                "digest": each.digest.text,
            }
            for each in archives
        ]
    return [
        skill,
        *(
            {
                "name": entry.name,
                "type": Delivery.ARCHIVE.value,
                "description": entry.shown_description,
                "url": archive_uri(entry, each.form),
                "digest": each.digest.text,
            }
            for each in archives
        ),
    ]
