"""Our values in the spelling of the wire."""

import base64
import json

from skillwire.model.entry import Json, LiveFile, SkillFile, SkillRecord
from skillwire.model.mime import DIRECTORY, MARKDOWN, is_text
from skillwire.model.template import SkillTemplate
from skillwire.model.uri import SKILL_FILE, last_segment
from skillwire.wire.messages import META_PREFIX, Freshness


def skill_entry(entry: SkillRecord) -> dict[str, Json]:
    """Return the entry of `skills/list` and `skills/get`: never a summary (S7, S8, S9)."""
    resources: Json = "dynamic"
    if not entry.dynamic:
        resources = [
            {"uri": entry.uri_of(file.path), "digest": file.digest.text, "size": file.size}
            for file in entry.files
            if isinstance(file, SkillFile)
        ]
    return {"uri": entry.uri, "frontmatter": dict(entry.frontmatter), "resources": resources}


def file_resource(uri: str, entry: SkillRecord, file: SkillFile | LiveFile) -> dict[str, Json]:
    """Return the metadata of a file: a `SKILL.md` goes by the name of its skill (S6)."""
    resource: dict[str, Json] = {"uri": uri, "name": last_segment(uri), "mimeType": file.mime_type}
    if file.path == SKILL_FILE:
        # A client may show this to a person or a model before anybody approved the skill (H27).
        description = entry.shown_description if entry.foreign else entry.description
        resource |= {"name": entry.name, "description": description}
        if meta := skill_meta(entry):
            resource["_meta"] = meta
    if isinstance(file, SkillFile):
        resource["size"] = file.size
    return resource


def template_resource(template: SkillTemplate) -> dict[str, Json]:
    """Return what is told of skills that are behind one pattern."""
    return {
        "uriTemplate": template.uri,
        "name": template.path,
        "description": template.description,
        "mimeType": MARKDOWN,
    }


def skill_meta(entry: SkillRecord) -> dict[str, Json]:
    """Return the frontmatter's `metadata` as `_meta`: its keys cannot pose as anybody else's (S6, S18)."""
    metadata = entry.frontmatter.get("metadata")
    if not isinstance(metadata, dict):
        return {}
    return {f"{META_PREFIX}{key}": _as_text(value) for key, value in metadata.items()}


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def directory_resource(uri: str) -> dict[str, Json]:
    """Return the metadata of a directory (S15)."""
    return {"uri": uri, "name": last_segment(uri), "mimeType": DIRECTORY}


def contents(uri: str, mime_type: str, content: bytes) -> dict[str, Json]:
    """Return one content block: text as text, the rest as base64 (S6)."""
    if is_text(content):
        return {"uri": uri, "mimeType": mime_type, "text": content.decode()}
    return blob_contents(uri, mime_type, content)


def blob_contents(uri: str, mime_type: str, content: bytes) -> dict[str, Json]:
    """Return one content block of bytes, whatever they look like."""
    return {"uri": uri, "mimeType": mime_type, "blob": base64.b64encode(content).decode("ascii")}


def complete(result: dict[str, Json], freshness: Freshness | None) -> dict[str, Json]:
    """Return `result` with what protocol 2026-07-28 wants of every result (S12)."""
    envelope: dict[str, Json] = {"resultType": "complete"}
    if freshness is not None:
        envelope |= {"ttlMs": freshness.ttl_ms, "cacheScope": freshness.scope}
    return {**envelope, **result}
