"""The shapes of what the tools of the pages return, as JSON Schema."""

from collections.abc import Mapping

from skillwire.model.entry import Json

_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "integer", "minimum": 0}
_FLAG: Json = {"type": "boolean"}
_TEXT_OR_NULL: Json = {"type": ["string", "null"]}
_NUMBER_OR_NULL: Json = {"type": ["integer", "null"]}


def _object(properties: Mapping[str, Json], *, optional: bool = False) -> dict[str, Json]:
    required: list[Json] = [] if optional else [*properties]
    return {
        "type": "object",
        "properties": {**properties},
        "required": required,
        "additionalProperties": False,
    }


def _list(of: Json) -> Json:
    return {"type": "array", "items": of}


_PROBLEM = _object(
    {
        "path": _TEXT,
        "line": _NUMBER_OR_NULL,
        "field": _TEXT,
        "rule": _TEXT,
        "severity": {"enum": ["error", "warning"]},
        "message": _TEXT,
        "hint": _TEXT,
    }
)
_SOURCE = _object(
    {
        "label": _TEXT,
        "kind": _TEXT,
        "place": _TEXT,
        "origin": _TEXT,
        "givenBy": _TEXT,
        "removable": _FLAG,
        "fetched": _TEXT_OR_NULL,
        "skills": _NUMBER,
        "errors": _NUMBER,
        "warnings": _NUMBER,
        "state": {"enum": ["ready", "waiting", "failed", "stale"]},
        "reason": _TEXT,
        "hint": _TEXT,
    }
)
_SUMMARY: dict[str, Json] = {
    "uri": _TEXT,
    "name": _TEXT,
    "description": _TEXT,
    "source": _TEXT,
    "origin": _TEXT,
    "path": _TEXT,
    "files": _NUMBER,
    "bytes": _NUMBER_OR_NULL,
    "problems": _NUMBER,
    "assistant": _FLAG,
    "user": _FLAG,
    "customized": _FLAG,
}
_FILE = _object({"uri": _TEXT, "path": _TEXT, "mimeType": _TEXT, "size": _NUMBER_OR_NULL})
_DETAIL = _object(
    {
        **_SUMMARY,
        "revision": _NUMBER,
        "frontmatter": {"type": "object"},
        "fileList": _list(_FILE),
        "problemList": _list(_PROBLEM),
        "location": _TEXT,
    }
)

CONFIG_SCHEMA = _object(
    {
        "revision": _NUMBER,
        "version": _TEXT,
        "editable": _FLAG,
        "unlock": _TEXT,
        "skills": _NUMBER,
        "errors": _NUMBER,
        "warnings": _NUMBER,
        "sources": _list(_SOURCE),
        "static": _FLAG,
        "staticFixed": _TEXT,
        "allowedOrigins": _list(_TEXT),
        "configFile": _TEXT,
        "problems": _list(_PROBLEM),
    }
)
SKILLS_SCHEMA = _object(
    {
        "revision": _NUMBER,
        "total": _NUMBER,
        "offset": _NUMBER,
        "skills": _list(_object(_SUMMARY)),
        "skill": _DETAIL,
    },
    optional=True,
)
"""One page of the list, or one skill."""
DONE_SCHEMA = _object({"done": {"const": True}})
