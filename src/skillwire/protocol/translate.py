"""Convert catalog values to parts of MCP messages, and define the types of some parts."""

import base64
import json
from typing import Literal, NotRequired, TypedDict

from skillwire.core.mime import DIRECTORY, MARKDOWN, decode_text
from skillwire.core.names import SKILL_FILE, file_uri, last_segment
from skillwire.core.record import Json, LiveFile, SkillFile, SkillRecord
from skillwire.core.template import SkillTemplate
from skillwire.protocol.messages import META_PREFIX, Freshness


class ListedResource(TypedDict):
    """A resource in `resources/list`."""

    uri: str
    name: str
    mimeType: str
    description: NotRequired[str]
    size: NotRequired[int]
    _meta: NotRequired[dict[str, Json]]


class Contents(TypedDict):
    """A file in `resources/read`. Content that is not text is in `blob`, as base64, instead of `text`."""

    uri: str
    mimeType: str
    text: str
    blob: NotRequired[str]
    _meta: NotRequired[dict[str, Json]]


class MessageContent(TypedDict):
    """The content of a prompt message: text, or a file in `resource`."""

    type: Literal["text", "resource"]
    text: str
    resource: NotRequired[Contents]
    annotations: NotRequired[dict[str, Json]]


class PromptMessage(TypedDict):
    """A message in `prompts/get`."""

    role: Literal["user", "assistant"]
    content: MessageContent


def skill_entry(entry: SkillRecord) -> dict[str, Json]:
    """Return the complete entry for `skills/list` and `skills/get` (S7, S8, S9)."""
    resources: Json = "dynamic"
    if not entry.dynamic:
        root = entry.root
        resources = [
            {"uri": file_uri(root, file.path), "digest": file.digest.text, "size": file.size}
            for file in entry.files
            if isinstance(file, SkillFile)
        ]
    return {"uri": entry.uri, "frontmatter": dict(entry.frontmatter), "resources": resources}


def file_resource(uri: str, entry: SkillRecord, file: SkillFile | LiveFile) -> dict[str, Json]:
    """Return the metadata of a file. A `SKILL.md` has its skill's name, description and metadata (S6)."""
    resource: dict[str, Json] = {"uri": uri, "name": last_segment(uri), "mimeType": file.mime_type}
    if file.path == SKILL_FILE:
        # A client may show this to a person or a model before the skill is approved (H27).
        description = entry.shown_description if entry.origin.foreign else entry.description
        resource |= {"name": entry.name, "description": description}
        if meta := skill_meta(entry):
            resource["_meta"] = meta
    if isinstance(file, SkillFile):
        resource["size"] = file.size
    return resource


def template_resource(template: SkillTemplate) -> dict[str, Json]:
    """Return the MCP resource template for a skill template."""
    return {
        "uriTemplate": template.uri,
        "name": template.path,
        "description": template.description,
        "mimeType": MARKDOWN,
    }


def skill_meta(entry: SkillRecord) -> dict[str, Json]:
    """Return the frontmatter's `metadata` as `_meta`, with text as values; empty if there is none.

    A prefix keeps these keys separate from all other keys (S6, S18).
    """
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
    """Return a content block. Text is sent as text, other content as base64 (S6)."""
    if (text := decode_text(content)) is not None:
        return {"uri": uri, "mimeType": mime_type, "text": text}
    return blob_contents(uri, mime_type, content)


def blob_contents(uri: str, mime_type: str, content: bytes) -> dict[str, Json]:
    """Return a content block of base64, even if the bytes are text."""
    return {"uri": uri, "mimeType": mime_type, "blob": base64.b64encode(content).decode("ascii")}


def complete(result: dict[str, Json], freshness: Freshness | None) -> dict[str, Json]:
    """Return `result` with the fields of protocol 2026-07-28; cache fields only with `freshness` (S12)."""
    envelope: dict[str, Json] = {"resultType": "complete"}
    if freshness is not None:
        envelope |= {"ttlMs": freshness.ttl_ms, "cacheScope": freshness.scope}
    return {**envelope, **result}
