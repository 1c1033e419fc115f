"""Content blocks for tool results and prompts, and the `_meta` of results about a skill."""

import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from skillwire.core.mime import is_text
from skillwire.core.names import SKILL_FILE
from skillwire.core.record import Json, SkillRecord
from skillwire.frontmatter.split import body_offset
from skillwire.library.library import Reading
from skillwire.protocol.messages import SKILL_META, URI_META
from skillwire.protocol.translate import contents, skill_meta
from skillwire.safe_text import escape_invisible, quote_if_needed

ASSISTANT_ANNOTATIONS: dict[str, Json] = {"audience": ["assistant"], "priority": 1.0}
Frame: TypeAlias = Callable[[SkillRecord, str, str], str]
"""A function that marks a text with its origin.

Its arguments: a skill, a file path (empty for a list), the text.
"""
Filling: TypeAlias = Callable[[str], str]
"""A function that fills a person's arguments into a text."""
RuntimeMeta: TypeAlias = Callable[[SkillRecord], Mapping[str, Json]]
"""A function that returns additional `_meta` for results about a skill."""


def text_block(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


def without_frame(_entry: SkillRecord, _path: str, text: str) -> str:
    """Return the text unchanged. Used for a server's own skills."""
    return text


def document_block(reading: Reading, frame: Frame = without_frame) -> dict[str, Json]:
    """Return a file as a text block with its frame or, if it is not text, as an embedded resource."""
    if not is_text(reading.content):
        return resource_block(reading)
    served = reading.served
    text = frame(served.entry, served.file.path, reading.content.decode())
    meta: dict[str, Json] = {URI_META: served.entry.uri_of(served.file.path)}
    return {**text_block(text), "annotations": ASSISTANT_ANNOTATIONS, "_meta": meta}


def fill_document(content: bytes, fill: Filling) -> bytes:
    """Return a `SKILL.md` with `fill` applied to its body. Content that is not text is returned unchanged."""
    if not is_text(content):
        return content
    body = body_offset(content)
    return content[:body] + fill(content[body:].decode()).encode()


def changed_block(entry: SkillRecord, text: str, frame: Frame = without_frame) -> dict[str, Json]:
    """Return a text made from files of a skill as a text block.

    It is not a resource, which would claim to have the exact bytes of a file (S19). The frame is put around
    the finished text, so that nothing filled into it can end the frame.
    """
    framed = frame(entry, SKILL_FILE, text)
    return {**text_block(framed), "annotations": ASSISTANT_ANNOTATIONS, "_meta": {SKILL_META: entry.uri}}


def folder_file_blocks(reading: Reading, frame: Frame | None = None) -> list[Json]:
    """Return the blocks for one of several files.

    The path is the first line, because many clients drop URIs. A binary file is an embedded resource after a
    text block with its path. Without a `frame`, random marks enclose a text that contains a similar line.
    """
    path = reading.served.file.path
    header = f"--- {escape_invisible(path) if frame is None else quote_if_needed(path)} ---"
    if not is_text(reading.content):
        size = f"({len(reading.content):,} bytes that are not text: the next item)"
        return [text_block(f"{header}\n{size}"), resource_block(reading)]
    block = document_block(reading, frame or _wrap_in_marks)
    return [{**block, "text": f"{header}\n{block['text']}"}]


def _wrap_in_marks(_entry: SkillRecord, _path: str, text: str) -> str:
    """Return a text, between random marks if it has a line that looks like a file header.

    These marks do not occur in the text.
    """
    if not any(map(_looks_like_a_header, text.splitlines())):
        return text
    mark = os.urandom(16).hex()
    while mark in text:
        mark = os.urandom(16).hex()
    notice = f"This file has lines that look like the one above. It ends at the line with {mark}."
    return f"{notice}\n--- {mark} begins ---\n{text}\n--- {mark} ends ---"


def _looks_like_a_header(line: str) -> bool:
    """Return whether a line could be mistaken for `--- path ---`.

    A separator line in a table does not count.
    """
    begin, end = line.find("--- "), line.rfind(" ---")
    around = line[: max(begin, 0)] + line[end + len(" ---") :]
    return 0 <= begin < end and not any(each.isalnum() or each == "|" for each in around)


def resource_block(reading: Reading) -> dict[str, Json]:
    """Return a file as an embedded resource with its URI."""
    entry, file = reading.served.entry, reading.served.file
    uri = entry.uri_of(file.path)
    resource = with_meta(contents(uri, file.mime_type, reading.content), entry)
    return {"type": "resource", "resource": resource, "annotations": ASSISTANT_ANNOTATIONS}


def with_meta(
    value: dict[str, Json], entry: SkillRecord, more: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """Return `value` with a `_meta` that contains the skill's metadata and `more`.

    An empty `_meta` is omitted.
    """
    meta = {**skill_meta(entry), **(more or {})}
    return {**value, "_meta": meta} if meta else value


def no_meta(_entry: SkillRecord) -> Mapping[str, Json]:
    """Return no additional metadata."""
    return {}
