"""The actions with which pages read and change the server. HTTP routes and MCP tools share them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from skillwire.core.record import Json
from skillwire.errors import BadParamsError, UsageError
from skillwire.features.base import Call
from skillwire.pages.connections import ConnectGuide
from skillwire.pages.overview import Overview

SHOW_CONFIG = "skill-config"
SHOW_SKILLS = "skill-display"
READ_FILE = "skill-file"
CONNECT = "skill-connect"

DEFAULT_PROBLEMS, MAX_PROBLEMS = 20, 2000
DEFAULT_SKILLS, MAX_SKILLS = 50, 500
_MAX_TEXT = 1024 * 1024

Run: TypeAlias = Callable[[Call], Awaitable[dict[str, Json]]]

_TEXT: dict[str, Json] = {"type": "string"}
_CHOICE: dict[str, Json] = {"type": ["boolean", "null"]}


@dataclass(frozen=True, slots=True)
class Action:
    """One action: its name, its parameters, and a function from arguments to a JSON object."""

    name: str
    description: str
    parameters: Mapping[str, dict[str, Json]]
    required: tuple[str, ...]
    run: Run

    @property
    def input_schema(self) -> dict[str, Json]:
        return {
            "type": "object",
            "properties": {**self.parameters},
            "required": list(self.required),
            "additionalProperties": False,
        }


def reading_actions(overview: Overview) -> list[Action]:
    """Return the read-only actions, for everyone who may see the pages."""

    async def show_config(call: Call) -> dict[str, Json]:
        problems = _number(call, "problems", DEFAULT_PROBLEMS, MAX_PROBLEMS)
        return overview.config(problems, can_change=call.can_change)

    async def show_skills(call: Call) -> dict[str, Json]:
        if call.params.get("skill") is not None:
            return {"skill": overview.skill(call.text("skill"), can_change=call.can_change)}
        query = "" if call.params.get("query") is None else call.text("query")
        offset = _number(call, "offset", 0, 10_000_000)
        limit = _number(call, "limit", DEFAULT_SKILLS, MAX_SKILLS)
        if query.strip():
            return await overview.search(query, limit, offset=offset, cursor=call.cursor())
        return overview.skills(offset, limit, around=_optional_text(call, "around"))

    async def read_file(call: Call) -> dict[str, Json]:
        return await overview.text(call.text("uri"), _MAX_TEXT)

    return [
        Action(
            SHOW_CONFIG,
            "Show the configuration of this server: the sources of its skills, the state of each source, "
            "and problems.",
            {"problems": _whole_number("Maximum number of problems to return.")},
            (),
            show_config,
        ),
        Action(
            SHOW_SKILLS,
            "Show the skills of this server, or one of them with its files and problems. With a `query`, the "
            "skills that fit best come first, in the same order as in `search-skills`.",
            {
                "query": {**_TEXT, "description": "What the skills should help with, in a few words."},
                "skill": {**_TEXT, "description": "The name or URI of one skill, to see its details."},
                "offset": _whole_number("Number of skills to skip, without a `query`."),
                "around": {
                    **_TEXT,
                    "description": "URI of a skill: return the part of the list that contains it.",
                },
                "cursor": {**_TEXT, "description": "With a `query`: the `nextCursor` of the last answer."},
                "limit": _whole_number("Maximum number of skills to return."),
            },
            (),
            show_skills,
        ),
        Action(READ_FILE, "Read a file of a skill.", {"uri": _TEXT}, ("uri",), read_file),
    ]


def connect_action(connections: ConnectGuide) -> Action:
    """Return the action that tells people how to connect clients."""

    async def connect(call: Call) -> dict[str, Json]:
        return connections.describe(call)

    parameters: dict[str, dict[str, Json]] = {"url": _TEXT, "platform": _TEXT}
    return Action(CONNECT, "Show how to connect clients to this server.", parameters, ("url",), connect)


def changing_actions(overview: Overview) -> list[Action]:
    """Return the actions that change the server and its configuration file.

    Each raises `ChangeNotAllowedError` if the caller may not change the server.
    """
    control = overview.control

    async def add_source(call: Call) -> None:
        await control.add_source(
            call.text("source"), _optional_text(call, "label"), _optional_text(call, "prefix")
        )

    async def remove_source(call: Call) -> None:
        await control.remove_source(call.text("label"))

    async def sync_source(call: Call) -> None:
        await control.sync_source(call.text("label"))

    async def set_visibility(call: Call) -> None:
        sides = {side: call.params[side] for side in ("assistant", "user") if side in call.params}
        if not sides or not all(value is None or isinstance(value, bool) for value in sides.values()):
            raise BadParamsError("pass `assistant`, `user` or both, each `true`, `false` or `null`")
        await control.set_visibility(call.text("uri"), cast("dict[str, bool | None]", sides))

    async def set_origins(call: Call) -> None:
        await control.set_allowed_origins(_texts(call, "origins"))

    async def set_static(call: Call) -> None:
        if not isinstance(static := call.params.get("static"), bool):
            raise BadParamsError("the parameter `static` must be true or false")
        await control.set_static(static=static)

    label: dict[str, dict[str, Json]] = {"label": _TEXT}
    changes = [
        _change(
            "skill-config-add-source",
            "Serve one more source of skills.",
            {"source": _TEXT, "label": _TEXT, "prefix": _TEXT},
            ("source",),
            add_source,
        ),
        _change("skill-config-remove-source", "Stop serving a source.", label, ("label",), remove_source),
        _change("skill-config-sync-source", "Fetch a source now.", label, ("label",), sync_source),
        _change(
            "skill-config-visibility",
            "Set who may start a skill; `null` leaves it to the frontmatter of the skill.",
            {"uri": _TEXT, "assistant": _CHOICE, "user": _CHOICE},
            ("uri",),
            set_visibility,
        ),
        _change(
            "skill-config-allowed-origins",
            "Set the further origins from which web sources may have this server fetch files.",
            {"origins": {"type": "array", "items": _TEXT}},
            ("origins",),
            set_origins,
        ),
        _change(
            "skill-config-static",
            "Freeze the set of skills, or follow the sources again.",
            {"static": {"type": "boolean"}},
            ("static",),
            set_static,
        ),
    ]
    return [replace(each, run=_require_permission(each.run, overview.unlock)) for each in changes]


class ChangeNotAllowedError(UsageError):
    """The caller has not sent a credential that allows changes."""


def _require_permission(run: Run, unlock: str) -> Run:
    async def guarded(call: Call) -> dict[str, Json]:
        if not call.can_change:
            raise ChangeNotAllowedError("this client is not allowed to change the server", hint=unlock)
        return await run(call)

    return guarded


def _change(
    name: str,
    description: str,
    parameters: Mapping[str, dict[str, Json]],
    required: tuple[str, ...],
    change: Callable[[Call], Awaitable[None]],
) -> Action:
    async def run(call: Call) -> dict[str, Json]:
        await change(call)
        return {"done": True}

    return Action(name, description, parameters, required, run)


def _whole_number(description: str) -> dict[str, Json]:
    return {"type": "integer", "minimum": 0, "description": description}


def _number(call: Call, name: str, default: int, maximum: int) -> int:
    value = call.params.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadParamsError(f"the parameter `{name}` must be a whole number, 0 or greater")
    return min(value, maximum)


def _optional_text(call: Call, name: str) -> str | None:
    return None if call.params.get(name) is None else call.text(name).strip() or None


def _texts(call: Call, name: str) -> Sequence[str]:
    value = call.params.get(name)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast("list[object]", value)):
        raise BadParamsError(f"the parameter `{name}` must be a list of strings")
    return cast("list[str]", value)
