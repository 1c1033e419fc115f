"""A skill for uploaders that take nothing but the standard. Only its frontmatter differs, and reversibly."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from skillwire.contract.frontmatter import allowed_tools, metadata_of
from skillwire.contract.severity import SEVERITIES
from skillwire.contract.terms import STANDARD
from skillwire.model.conformance import MAX_COMPATIBILITY
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.problem import Problem, Rule, Severity
from skillwire.skillmd.frontmatter import OPENING, split
from skillwire.skillmd.rules import separated_by_commas
from skillwire.skillmd.scalar_text import scalar
from skillwire.skillmd.yaml12 import load

_PLAIN = ("id", "version")
_FIRST = (*_PLAIN, "tags", "capabilities", "depends_on", "references", "icons")


@dataclass(frozen=True, slots=True)
class Projection:
    """A projected `SKILL.md`."""

    content: bytes
    dropped: tuple[str, ...]
    """The fields that the standard does not know."""


def project(content: bytes, key: str) -> Projection:
    """Return the projection of a `SKILL.md` that keeps the contract; of a projection, the same again."""
    parts = split(content)
    raw = restored(load(parts.text).values, key)
    lines = "".join(_lines(standard_fields(raw, key)))
    body = content[parts.body :]
    closing = b"---\n" if body or content.endswith(b"\n") else b"---"
    dropped = tuple(sorted(raw.keys() - {*STANDARD, key}))
    return Projection(f"{OPENING}{lines}".encode() + closing + body, dropped)


def restored(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a frontmatter with the block that a projection put into its metadata; others as they are."""
    metadata: Json = raw.get("metadata")
    if key in raw or not isinstance(metadata, dict) or f"{key}.id" not in metadata:
        return raw
    prefix = f"{key}."
    block = {
        name.removeprefix(prefix): _unpacked(name.removeprefix(prefix), value)
        for name, value in metadata.items()
        if name.startswith(prefix)
    }
    own = {name: value for name, value in metadata.items() if not name.startswith(prefix)}
    rest: dict[str, Json] = {name: value for name, value in raw.items() if name != "metadata"}
    return {**rest, **({"metadata": own} if own else {}), key: block}


def standard_fields(raw: Mapping[str, Json], key: str) -> dict[str, str | dict[str, str]]:
    """Return the standard fields of a frontmatter that keeps the contract, in their order."""
    fields: dict[str, str | dict[str, str]] = {
        "name": str(raw["name"]),
        "description": str(raw["description"]).strip(),
    }
    for name in ("license", "compatibility"):
        if isinstance(value := raw.get(name), str) and value.strip():
            fields[name] = value
    if tools := _tools(raw):
        fields["allowed-tools"] = tools
    if metadata := metadata_of(raw) | dict(_packed_block(raw, key)):
        fields["metadata"] = metadata
    return fields


def projection_problems(raw: Mapping[str, Json], key: str, path: str) -> Iterator[Problem]:
    """Yield what stands in the way of a projection, and what it loses."""
    compatibility = raw.get("compatibility")
    if isinstance(compatibility, str) and len(compatibility) > MAX_COMPATIBILITY:
        message = f"the text has {len(compatibility)} characters, and uploaders take {MAX_COMPATIBILITY}"
        hint = f"shorten it by {len(compatibility) - MAX_COMPATIBILITY}"
        rule = Rule.COMPATIBILITY_FORMAT
        yield Problem(path, rule, Severity.ERROR, message, hint=hint, field="compatibility")
    for name in sorted(raw.keys() - {*STANDARD, key}):
        rule = Rule.CONTRACT_PROJECTION_DROPPED
        message = f"the field {quoted(name)} is not in the projection"
        hint = "uploaders that know only the standard refuse it; nothing is lost in the source"
        yield Problem(path, rule, SEVERITIES[rule], message, hint=hint, field=name)


def _tools(raw: Mapping[str, Json]) -> str:
    value = raw.get("allowed-tools")
    if isinstance(value, str) and not separated_by_commas(value):
        return value.strip()
    return " ".join(allowed_tools(raw))


def _packed_block(raw: Mapping[str, Json], key: str) -> Iterator[tuple[str, str]]:
    block = raw.get(key)
    if not isinstance(block, dict):
        return
    for name in (*(each for each in _FIRST if each in block), *sorted(block.keys() - set(_FIRST))):
        value = block[name]
        yield f"{key}.{name}", value if name in _PLAIN and isinstance(value, str) else _compact(value)


def _compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _unpacked(name: str, value: Json) -> Json:
    if name in _PLAIN or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:  # somebody edited it: the rules of the block say what is wrong
        return value


def _lines(fields: Mapping[str, str | Mapping[str, str]]) -> Iterator[str]:
    for name, value in fields.items():
        if isinstance(value, str):
            yield f"{name}: {scalar(value)}\n"
        else:
            yield f"{name}:\n"
            yield from (f"  {scalar(inner)}: {scalar(text)}\n" for inner, text in value.items())
