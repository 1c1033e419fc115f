"""Tools that others bring to the tools surface: how each is listed, and what it does."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from skillwire.model.entry import Json
from skillwire.model.json_text import json_bytes
from skillwire.surfaces.base import Call
from skillwire.surfaces.content import text_block

Run: TypeAlias = Callable[[Call], Awaitable[dict[str, Json]]]
"""From the arguments of a call to its whole result."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool, for `tools/list` and `tools/call`."""

    name: str
    description: str
    input_schema: Mapping[str, Json]
    annotations: Mapping[str, Json]
    run: Run
    output_schema: Mapping[str, Json] | None = None
    meta: Mapping[str, Json] = field(default_factory=dict[str, Json])
    changes: bool = False
    """Whether it changes the server: it is listed only for callers who may do that."""

    def to_json(self) -> dict[str, Json]:
        told: dict[str, Json] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": dict(self.input_schema),
            "annotations": dict(self.annotations),
        }
        if self.output_schema is not None:
            told["outputSchema"] = dict(self.output_schema)
        return {**told, "_meta": dict(self.meta)} if self.meta else told


def structured(value: dict[str, Json], *, is_error: bool = False) -> dict[str, Json]:
    """Return a result that programs and models can read: as an object, and as text."""
    text = json_bytes(value, indented=True).decode().removesuffix("\n")
    return {"content": [text_block(text)], "structuredContent": value, "isError": is_error}
