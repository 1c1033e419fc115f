"""Our values in the spelling of the wire."""

import base64

from skillwire.model.entry import Entry, Json, LiveFile, SkillFile
from skillwire.model.mime import DIRECTORY, is_text
from skillwire.model.uri import SKILL_FILE, last_segment
from skillwire.wire.messages import Freshness


def skill_entry(entry: Entry) -> dict[str, Json]:
    """Return the entry of `skills/list` and `skills/get`: never a summary (S7, S8, S9)."""
    resources: Json = "dynamic"
    if not entry.dynamic:
        resources = [
            {"uri": entry.uri_of(file.path), "digest": file.digest.text, "size": file.size}
            for file in entry.files
            if isinstance(file, SkillFile)
        ]
    return {"uri": entry.uri, "frontmatter": dict(entry.frontmatter), "resources": resources}


def file_resource(uri: str, entry: Entry, file: SkillFile | LiveFile) -> dict[str, Json]:
    """Return the metadata of a file: a `SKILL.md` goes by the name of its skill (S6)."""
    resource: dict[str, Json] = {"uri": uri, "name": last_segment(uri), "mimeType": file.mime_type}
    if file.path == SKILL_FILE:
        resource |= {"name": entry.name, "description": entry.description}
    if isinstance(file, SkillFile):
        resource["size"] = file.size
    return resource


def directory_resource(uri: str) -> dict[str, Json]:
    """Return the metadata of a directory (S15)."""
    return {"uri": uri, "name": last_segment(uri), "mimeType": DIRECTORY}


def contents(uri: str, mime_type: str, content: bytes) -> dict[str, Json]:
    """Return one content block: text as text, the rest as base64 (S6)."""
    block: dict[str, Json] = {"uri": uri, "mimeType": mime_type}
    if is_text(content):
        block["text"] = content.decode()
    else:
        block["blob"] = base64.b64encode(content).decode("ascii")
    return block


def complete(result: dict[str, Json], freshness: Freshness | None) -> dict[str, Json]:
    """Return `result` with what protocol 2026-07-28 wants of every result (S12)."""
    envelope: dict[str, Json] = {"resultType": "complete"}
    if freshness is not None:
        envelope |= {"ttlMs": freshness.ttl_ms, "cacheScope": freshness.scope}
    return {**envelope, **result}
