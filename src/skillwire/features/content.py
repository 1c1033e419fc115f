"""Pieces of content for tool results and prompts."""

import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from skillwire.core.mime import is_text
from skillwire.core.record import Json, SkillRecord
from skillwire.library.library import Reading
from skillwire.protocol.messages import URI_META
from skillwire.protocol.translate import contents, skill_meta
from skillwire.safe_text import escape_invisible, quote_if_needed

ASSISTANT_ANNOTATIONS: dict[str, Json] = {"audience": ["assistant"], "priority": 1.0}
Frame: TypeAlias = Callable[[SkillRecord, str, str], str]
"""Says from whom a text is. It gets a skill, the path of a file in it (empty for a list), and the text."""
RuntimeMeta: TypeAlias = Callable[[SkillRecord], Mapping[str, Json]]
"""What else results for a skill carry."""


def text_block(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def without_frame(_entry: SkillRecord, _path: str, text: str) -> str:
    """Return the text as it is: whoever serves it is who answers for it."""
    return text


def document_block(reading: Reading, frame: Frame = without_frame) -> dict[str, Json]:
    """Return a file as plain text where it is text, else as an embedded resource."""
    if not is_text(reading.content):
        return resource_block(reading)
    served = reading.served
    text = frame(served.entry, served.file.path, reading.content.decode())
    meta: dict[str, Json] = {URI_META: served.entry.uri_of(served.file.path)}
    return {**text_block(text), "annotations": ASSISTANT_ANNOTATIONS, "_meta": meta}


def folder_file_blocks(reading: Reading, frame: Frame | None = None) -> list[Json]:
    """Return one file of many. Its first line names it, because many clients drop URIs.

    What is not text is an embedded resource, behind a text that names it.
    """
    path = reading.served.file.path
    header = f"--- {escape_invisible(path) if frame is None else quote_if_needed(path)} ---"
    if not is_text(reading.content):
        size = f"({len(reading.content):,} bytes that are not text: the next item)"
        return [text_block(f"{header}\n{size}"), resource_block(reading)]
    block = document_block(reading, frame or _wrap_in_marks)
    return [{**block, "text": f"{header}\n{block['text']}"}]


def _wrap_in_marks(_entry: SkillRecord, _path: str, text: str) -> str:
    """Return a text; if a line in it looks like the header of a file, between marks that it cannot fake."""
    if not any(map(_looks_like_a_header, text.splitlines())):
        return text
    mark = os.urandom(16).hex()
    while mark in text:
        mark = os.urandom(16).hex()
    told = f"This file has lines that look like the one above. It ends at the line with {mark}."
    return f"{told}\n--- {mark} begins ---\n{text}\n--- {mark} ends ---"


def _looks_like_a_header(line: str) -> bool:
    """Whether a reader could take a line for `--- path ---`. The ruled line of a table is none."""
    begin, end = line.find("--- "), line.rfind(" ---")
    around = line[: max(begin, 0)] + line[end + len(" ---") :]
    return 0 <= begin < end and not any(each.isalnum() or each == "|" for each in around)


def resource_block(reading: Reading) -> dict[str, Json]:
    """Return a file as an embedded resource, which says what its URI is."""
    entry, file = reading.served.entry, reading.served.file
    uri = entry.uri_of(file.path)
    resource = with_meta(contents(uri, file.mime_type, reading.content), entry)
    return {"type": "resource", "resource": resource, "annotations": ASSISTANT_ANNOTATIONS}


def with_meta(
    value: dict[str, Json], entry: SkillRecord, more: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """Return `value` with the skill's own metadata and what `more` there is, if there is any."""
    meta = {**skill_meta(entry), **(more or {})}
    return {**value, "_meta": meta} if meta else value


def no_meta(_entry: SkillRecord) -> Mapping[str, Json]:
    """Return nothing: the skill's own metadata is all."""
    return {}
