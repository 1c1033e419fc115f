"""The pages inside MCP Apps hosts: tools that open them, tools that they call, and the pages as resources."""

from collections.abc import Collection

from skillwire.catalog.change import Change
from skillwire.model.entry import Json, SkillRecord
from skillwire.model.errors import SkillwireError, UsageError
from skillwire.surfaces.actions import SHOW_CONFIG, SHOW_SKILLS, Action, changing_actions, reading_actions
from skillwire.surfaces.app_schemas import CONFIG_SCHEMA, DONE_SCHEMA, SKILLS_SCHEMA
from skillwire.surfaces.app_texts import told
from skillwire.surfaces.base import Call
from skillwire.surfaces.built import built_page
from skillwire.surfaces.content import text_block
from skillwire.surfaces.documents import Unlisted
from skillwire.surfaces.overview import Overview
from skillwire.surfaces.toolbox import Run, Tool

MIME_TYPE = "text/html;profile=mcp-app"
CONFIG_PAGE, SKILLS_PAGE = "ui://skillwire/config.html", "ui://skillwire/skills.html"

_VIEWS = {CONFIG_PAGE: "config", SKILLS_PAGE: "skills"}
_OPENS = {SHOW_CONFIG: CONFIG_PAGE, SHOW_SKILLS: SKILLS_PAGE}
_SCHEMAS = {SHOW_CONFIG: CONFIG_SCHEMA, SHOW_SKILLS: SKILLS_SCHEMA}
_LOOKS: dict[str, Json] = {
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}
_CHANGES: dict[str, Json] = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}


def app_tools(overview: Overview) -> list[Tool]:
    """Return the tools of the pages. Those that change anything exist only where that is allowed.

    They are listed for, and obey, only callers who may change the server: the client on stdio, and clients
    over HTTP that sent a token. That they are for pages alone is a hint to hosts; it does not stop a model.
    """
    shown = [_opening(action) for action in reading_actions(overview) if action.name in _OPENS]
    if not overview.control.editable:
        return shown
    return [*shown, *map(_behind, changing_actions(overview))]


class AppPages(Unlisted):
    """The pages as resources: each a whole HTML document that asks nobody but its host.

    In no list: a person who picks a resource has no use for them, and hosts find them at their tools.
    """

    scheme = "ui://"

    def serves(self, uri: str) -> bool:
        return uri in _VIEWS

    def owner_of(self, uri: str) -> SkillRecord | None:  # noqa: ARG002 - they belong to no skill
        return None

    async def read(self, uri: str) -> list[Json]:
        html = built_page("app.html").replace("<html ", f'<html data-view="{_VIEWS[uri]}" ', 1)
        meta: dict[str, Json] = {"ui": {"prefersBorder": True}}
        return [{"uri": uri, "mimeType": MIME_TYPE, "text": html, "_meta": meta}]

    def updated(self, change: Change) -> Collection[str]:  # noqa: ARG002 - they are always the same
        return ()


def _opening(action: Action) -> Tool:
    """Return a tool that a model calls, and whose result a host shows as a page."""
    page = _OPENS[action.name]
    # The second spelling is an older one, which hosts still read.
    meta: dict[str, Json] = {"ui": {"resourceUri": page}, "ui/resourceUri": page}
    return Tool(
        action.name,
        action.description,
        action.input_schema,
        _LOOKS,
        _run(action),
        output_schema=_SCHEMAS[action.name],
        meta=meta,
    )


def _behind(action: Action) -> Tool:
    """Return a tool that only a page should call."""
    return Tool(
        action.name,
        action.description,
        action.input_schema,
        _CHANGES,
        _run(action),
        output_schema=DONE_SCHEMA,
        meta={"ui": {"visibility": ["app"]}},
        changes=True,
    )


def _run(action: Action) -> Run:
    async def run(call: Call) -> dict[str, Json]:
        try:
            value = await action.run(call)
        except SkillwireError as error:
            hint = f"\nhint: {error.hint}" if isinstance(error, UsageError) and error.hint else ""
            return {"content": [text_block(f"{error}{hint}")], "isError": True}
        text = text_block(told(action.name, value))
        return {"content": [text], "structuredContent": value, "isError": False}

    return run
