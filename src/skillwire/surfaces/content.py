"""Pieces of content for tool results and prompts."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from skillwire.catalog.library import Reading
from skillwire.model.entry import Entry, Json
from skillwire.model.mime import is_text
from skillwire.wire.translate import contents, skill_meta

FOR_THE_MODEL: dict[str, Json] = {"audience": ["assistant"], "priority": 1.0}


def text_block(text: str) -> dict[str, Json]:
    return {"type": "text", "text": text}


Frame: TypeAlias = Callable[[Entry, str, str], str]
"""Says from whom a text is. It gets a skill, the path of a file in it (empty for a list), and the text."""


def unframed(_entry: Entry, _path: str, text: str) -> str:
    """Return the text as it is: whoever serves it is who answers for it."""
    return text


def document_block(reading: Reading, frame: Frame = unframed) -> dict[str, Json]:
    """Return a file as plain text where it is text, else as an embedded resource."""
    if not is_text(reading.content):
        return resource_block(reading)
    served = reading.served
    text = frame(served.entry, served.file.path, reading.content.decode())
    return {**text_block(text), "annotations": FOR_THE_MODEL}


def resource_block(reading: Reading) -> dict[str, Json]:
    """Return a file as an embedded resource, which says what its URI is."""
    entry, file = reading.served.entry, reading.served.file
    uri = entry.uri_of(file.path)
    resource = with_meta(contents(uri, file.mime_type, reading.content), entry)
    return {"type": "resource", "resource": resource, "annotations": FOR_THE_MODEL}


def with_meta(
    value: dict[str, Json], entry: Entry, more: Mapping[str, Json] | None = None
) -> dict[str, Json]:
    """Return `value` with the skill's own metadata and what `more` there is, if there is any."""
    meta = {**skill_meta(entry), **(more or {})}
    return {**value, "_meta": meta} if meta else value


RuntimeMeta: TypeAlias = Callable[[Entry], Mapping[str, Json]]
"""What else results for a skill carry."""


def no_meta(_entry: Entry) -> Mapping[str, Json]:
    """Return nothing: the skill's own metadata is all."""
    return {}
