"""The pages as MCP Apps: tools with their schemas and texts, and the pages as resources."""

from collections.abc import Collection, Mapping
from typing import Any

from skillwire.core.record import Json, SkillRecord
from skillwire.errors import SkillwireError, UsageError
from skillwire.features.base import Call
from skillwire.features.content import text_block
from skillwire.features.resources import UnlistedResources
from skillwire.features.tools import Run, Tool
from skillwire.library.change import Change
from skillwire.pages.actions import SHOW_CONFIG, SHOW_SKILLS, Action, changing_actions, reading_actions
from skillwire.pages.built_html import built_page
from skillwire.pages.overview import Overview
from skillwire.safe_text import escape_invisible
from skillwire.terminal.messages import pluralize

_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "integer", "minimum": 0}
_FLAG: Json = {"type": "boolean"}
_TEXT_OR_NULL: Json = {"type": ["string", "null"]}
_NUMBER_OR_NULL: Json = {"type": ["integer", "null"]}
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
    "withheld": _FLAG,
    "trust": _TEXT,
    "assistant": _FLAG,
    "user": _FLAG,
    "customized": _FLAG,
    "repeated": _FLAG,
}
_MAX_LINES = 50
MIME_TYPE = "text/html;profile=mcp-app"
CONFIG_PAGE, SKILLS_PAGE = "ui://skillwire/config.html", "ui://skillwire/skills.html"
_VIEWS = {CONFIG_PAGE: "config", SKILLS_PAGE: "skills"}
_PAGE_BY_TOOL = {SHOW_CONFIG: CONFIG_PAGE, SHOW_SKILLS: SKILLS_PAGE}
_READ_ONLY: dict[str, Json] = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
_MUTATING: dict[str, Json] = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}


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
        "source": _TEXT,
        "uri": _TEXT,
    }
)
_GROUP = _object({"rule": _TEXT, "severity": _TEXT, "source": _TEXT, "count": _NUMBER})
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
        "withheld": _NUMBER,
        "errors": _NUMBER,
        "warnings": _NUMBER,
        "state": {"enum": ["ready", "waiting", "failed", "stale"]},
        "reason": _TEXT,
        "hint": _TEXT,
    }
)
_FILE = _object({"uri": _TEXT, "path": _TEXT, "mimeType": _TEXT, "size": _NUMBER_OR_NULL})
_MATCH = _object({"uri": _TEXT, "rank": _NUMBER, "fields": _list(_TEXT), "snippet": _TEXT})
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
        "bridge": _FLAG,
        "skills": _NUMBER,
        "withheld": _NUMBER,
        "errors": _NUMBER,
        "warnings": _NUMBER,
        "sources": _list(_SOURCE),
        "static": _FLAG,
        "staticFixed": _TEXT,
        "allowedOrigins": _list(_TEXT),
        "configFile": _TEXT,
        "problemGroups": _list(_GROUP),
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
        "matches": _list(_MATCH),
        "weak": _FLAG,
        "corrections": {"type": "object", "additionalProperties": _TEXT},
        "incomplete": _FLAG,
        "withheld": _list(_object(_SUMMARY)),
        "withheldTotal": _NUMBER,
        "nextCursor": _TEXT,
    },
    optional=True,
)
"""Schema of the result of `skill-display`: a part of the list of skills, results of a search, or a skill."""
DONE_SCHEMA = _object({"done": {"const": True}})


def tool_text(name: str, value: Mapping[str, Json]) -> str:
    """Return `value`, the result of the tool `name`, as text for models."""
    known: Any = value
    if name == "skill-config":
        return _config(known)
    if name != "skill-display":
        return "done"
    if "skill" in known:
        return _skill(known["skill"])
    return _found(known) if "matches" in known else _skills(known)


def _config(config: Any) -> str:
    sources = [
        f"- {each['label']}: {each['kind']}, {pluralize(each['skills'], 'skill')}, {each['state']}, "
        f"given by the {each['givenBy']}" + (f": {each['reason']}" if each["reason"] else "")
        for each in config["sources"]
    ]
    problems = [f"- {each['severity']}: {each['path']}: {each['message']}" for each in config["problems"]]
    counts = ", ".join(pluralize(config[f"{what}s"], what) for what in ("skill", "error", "warning"))
    mode = "static" if config["static"] else "live"
    return "\n".join(
        [
            f"{counts}; {mode}",
            "",
            "Sources:",
            *_cut(sources),
            *(["", "Problems:"] if problems else []),
            *_cut(problems),
        ]
    )


def _found(page: Any) -> str:
    corrections = [
        f"`{escape_invisible(word)}` occurs nowhere; searched for `{escape_invisible(correction)}`"
        for word, correction in page["corrections"].items()
    ]
    others = page["withheldTotal"]
    withheld = [f"not approved, and not ranked: {others}", *_cut(_lines(page["withheld"]))] if others else []
    more = [f"for more, pass the cursor {page['nextCursor']}"] if "nextCursor" in page else []
    notes = {"no skill fits well": page["weak"], "the index is not complete yet": page["incomplete"]}
    return "\n".join(
        [
            f"{pluralize(page['total'], 'skill')} found" + ("; the best first:" if page["skills"] else ""),
            *_cut(_lines(page["skills"])),
            *(note for note, applies in notes.items() if applies),
            *corrections,
            *withheld,
            *more,
        ]
    )


def _lines(skills: Any) -> list[str]:
    return [f"- {each['name']}{_marks(each)}: {each['description']}" for each in skills]


def _skills(page: Any) -> str:
    lines = _lines(page["skills"])
    first, last = page["offset"] + 1, page["offset"] + len(lines)
    shown = pluralize(page["total"], "skill")
    if lines and len(lines) < page["total"]:
        shown += f"; {first:,} to {last:,}" if first < last else f"; number {first:,}"
    shown += ":" if lines else ""
    return "\n".join([shown, *_cut(lines)])


def _skill(skill: Any) -> str:
    files = [f"- {escape_invisible(each['path'])}" for each in skill["fileList"]]
    problems = [f"- {each['severity']}: {each['message']}" for each in skill["problemList"]]
    return "\n".join(
        [
            f"{skill['name']}{_marks(skill)}: {skill['description']}",
            f"{skill['uri']}, from {skill['origin']}",
            "Files:",
            *_cut(files),
            *(["Problems:"] if problems else []),
            *_cut(problems),
        ]
    )


def _marks(skill: Any) -> str:
    marks = {"not for models": not skill["assistant"], "not for people": not skill["user"]}
    shown = [mark for mark, applies in {**marks, "customized": skill["customized"]}.items() if applies]
    return f" ({', '.join(shown)})" if shown else ""


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= _MAX_LINES:
        return lines
    return [*lines[:_MAX_LINES], f"and {len(lines) - _MAX_LINES} more"]


_SCHEMAS = {SHOW_CONFIG: CONFIG_SCHEMA, SHOW_SKILLS: SKILLS_SCHEMA}


def app_tools(overview: Overview) -> list[Tool]:
    """Return the tools of the pages. Tools that change the server exist only if it is editable.

    Only clients that may change the server can list and call the tools that change it: the client over
    stdio, and HTTP clients that sent a token. The visibility `app` of these tools is only a hint to hosts. It
    does not stop a model from calling them.
    """
    shown = [_page_tool(action) for action in reading_actions(overview) if action.name in _PAGE_BY_TOOL]
    if not overview.control.editable:
        return shown
    return [*shown, *map(_internal_tool, changing_actions(overview))]


class AppPages(UnlistedResources):
    """The pages as resources. Each page is a complete HTML document that communicates only with its host.

    The resources are not listed. People who choose a resource do not need them, and hosts find them through
    the tools.
    """

    scheme = "ui://"

    def serves(self, uri: str) -> bool:
        return uri in _VIEWS

    def find_owner(self, uri: str) -> SkillRecord | None:  # noqa: ARG002 - pages belong to no skill
        return None

    async def read(self, uri: str) -> list[Json]:
        html = built_page("app.html").replace("<html ", f'<html data-view="{_VIEWS[uri]}" ', 1)
        meta: dict[str, Json] = {"ui": {"prefersBorder": True}}
        return [{"uri": uri, "mimeType": MIME_TYPE, "text": html, "_meta": meta}]

    def updated_uris(self, change: Change) -> Collection[str]:  # noqa: ARG002 - pages never change
        return ()


def _page_tool(action: Action) -> Tool:
    """Return the tool for an action that has a page. Models call it. Hosts show its result as the page."""
    page = _PAGE_BY_TOOL[action.name]
    # The second key is an older spelling that some hosts still read.
    meta: dict[str, Json] = {"ui": {"resourceUri": page}, "ui/resourceUri": page}
    return Tool(
        action.name,
        action.description,
        action.input_schema,
        _READ_ONLY,
        _make_handler(action),
        output_schema=_SCHEMAS[action.name],
        meta=meta,
    )


def _internal_tool(action: Action) -> Tool:
    """Return the tool for an action that changes the server. Only a page should call it."""
    return Tool(
        action.name,
        action.description,
        action.input_schema,
        _MUTATING,
        _make_handler(action),
        output_schema=DONE_SCHEMA,
        meta={"ui": {"visibility": ["app"]}},
        changes=True,
    )


def _make_handler(action: Action) -> Run:
    """Return a tool's function that runs `action`. It returns each `SkillwireError` as an error result."""

    async def run(call: Call) -> dict[str, Json]:
        try:
            value = await action.run(call)
        except SkillwireError as error:
            hint = f"\nhint: {error.hint}" if isinstance(error, UsageError) and error.hint else ""
            return {"content": [text_block(f"{error}{hint}")], "isError": True}
        text = text_block(tool_text(action.name, value))
        return {"content": [text], "structuredContent": value, "isError": False}

    return run
