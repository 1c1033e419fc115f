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


def document_block(reading: Reading) -> dict[str, Json]:
    """Return a file as plain text where it is text, else as an embedded resource."""
    if is_text(reading.content):
        return {**text_block(reading.content.decode()), "annotations": FOR_THE_MODEL}
    return resource_block(reading)


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
