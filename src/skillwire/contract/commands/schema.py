"""`skillwire schema`: print the JSON Schema of skill frontmatter."""

from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from skillwire.contract.commands.options import BlockKey
from skillwire.contract.rules.block import PATTERN as SEMVER
from skillwire.contract.rules.skill import BLOCK_KEYS
from skillwire.contract.rules.standard import RESERVED_WORDS
from skillwire.core.conformance import MAX_COMPATIBILITY, MAX_DESCRIPTION
from skillwire.core.names import MAX_NAME_LENGTH
from skillwire.terminal.options import CONTRACT
from skillwire.terminal.output import print_json

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_KEBAB = "^[a-z0-9]+(-[a-z0-9]+)*$"
_ID = "^[a-z][a-z0-9]*(-[a-z0-9]+)*$"
_TEXTS = {"type": "array", "items": {"type": "string", "minLength": 1}}
_TEXT_OR_TEXTS = {"anyOf": [{"type": "string"}, _TEXTS]}
_CLAUDE: dict[str, Any] = {
    "when_to_use": {"type": "string"},
    "arguments": _TEXT_OR_TEXTS,
    "argument-hint": _TEXT_OR_TEXTS,
    "disable-model-invocation": {"type": "boolean"},
    "user-invocable": {"type": "boolean"},
    "disallowed-tools": _TEXT_OR_TEXTS,
    "model": {"type": "string"},
    "effort": {"type": ["string", "integer"]},
    "context": {"type": "string"},
    "agent": {"type": "string"},
    "hooks": {"type": "object"},
    "paths": _TEXT_OR_TEXTS,
    "shell": {"type": "string"},
}
_REFERENCE: dict[str, Any] = {
    "type": "object",
    "required": ["path"],
    "properties": {
        "path": {"type": "string", "pattern": r"^(\./+)*references/[^\\]*\.[mM][dD]$"},
        "mime_type": {"type": "string", "default": "text/markdown"},
        "title": {"type": ["string", "null"]},
        "aliases": {"type": "array", "items": {"type": "string", "pattern": _ID}},
    },
    "additionalProperties": True,
}
_ICON: dict[str, Any] = {
    "type": "object",
    "required": ["src"],
    "properties": {
        "src": {"type": "string", "minLength": 1},
        "mimeType": {"type": "string"},
        "sizes": {"type": "array", "items": {"type": "string"}},
        "theme": {"enum": ["light", "dark"]},
    },
    "additionalProperties": True,
}


def frontmatter_schema(keys: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON Schema of skill frontmatter.

    With `keys`, it requires the contract's metadata block under exactly one of them.
    """
    schema: dict[str, Any] = {
        "$schema": _DRAFT,
        "title": "Frontmatter of a SKILL.md",
        "type": "object",
        "required": ["name", "description"],
        "properties": _standard(letter_first=bool(keys)) | _CLAUDE,
        "additionalProperties": True,
    }
    if not keys:
        return schema
    schema["properties"] |= {key: _block() for key in keys}
    if len(keys) == 1:
        schema["required"].append(keys[0])
    else:
        schema["oneOf"] = [{"required": [key]} for key in keys]
    return schema


def _standard(*, letter_first: bool) -> dict[str, Any]:
    name: dict[str, Any] = {
        "description": "The name of the skill, and of its folder",
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_NAME_LENGTH,
        "pattern": _ID if letter_first else _KEBAB,
    }
    if letter_first:
        name["not"] = {"pattern": "|".join(RESERVED_WORDS)}
    return {
        "name": name,
        "description": {
            "description": "What the skill does, and when to use it",
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_DESCRIPTION,
            "pattern": r"\S",
        },
        "license": {"description": "Under which terms it may be used", "type": "string"},
        "compatibility": {
            "description": "What it needs to run",
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_COMPATIBILITY,
        },
        "allowed-tools": {
            "description": "Tools that it may use, with spaces between them",
            **(_TEXT_OR_TEXTS if letter_first else {"type": "string"}),
        },
        "metadata": {
            "description": "Anything else, as text",
            "type": "object",
            "additionalProperties": {"type": "string"},
        },
    }


def _block() -> dict[str, Any]:
    return {
        "description": "What the catalog says of the skill",
        "type": "object",
        "required": ["id", "version", "capabilities"],
        "properties": {
            "id": {"description": "The name of the skill", "type": "string", "pattern": _ID},
            "version": {
                "description": "Its version, by SemVer 2.0",
                "type": "string",
                "pattern": f"^{SEMVER}$",
            },
            "tags": {**_TEXTS, "uniqueItems": True},
            "capabilities": {
                "description": "Every address that it is published at, its document among them",
                "type": "array",
                "items": {"type": "string", "pattern": "^resource://skills/"},
                "contains": {"type": "string", "pattern": "^resource://skills/[a-z0-9-]+/document$"},
            },
            "depends_on": {
                "type": "array",
                "items": {"type": "string", "pattern": _ID},
                "uniqueItems": True,
            },
            "references": {
                "type": "object",
                "propertyNames": {"pattern": _ID},
                "additionalProperties": _REFERENCE,
            },
            "icons": {"type": "array", "items": _ICON},
        },
        "additionalProperties": True,
    }


def schema(
    *,
    contract: Annotated[
        bool, Parameter(group=CONTRACT, help="Require the metadata block of the repository contract.")
    ] = False,
    block_key: BlockKey = None,
) -> int:
    """Print the JSON Schema of skill frontmatter, for editors and other programs.

    A schema cannot express every rule, for example that a file exists, or that a skill has the name of its
    folder. `skillwire check` also checks such rules.

    For example:

    ```
    skillwire schema > skill.schema.json
    skillwire schema --contract > skill.schema.json
    ```
    """
    keys = BLOCK_KEYS if block_key is None else (block_key,)
    print_json(frontmatter_schema(keys if contract else ()))
    return 0
