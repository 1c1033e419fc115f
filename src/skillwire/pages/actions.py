"""What a page asks of the server, and has it do. The same over HTTP and as tools; one line for each."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from skillwire.core.record import Json
from skillwire.errors import BadParamsError, UsageError
from skillwire.features.base import Call
from skillwire.pages.overview import Overview

SHOW_CONFIG = "skill-config"
SHOW_SKILLS = "skill-display"
READ_FILE = "skill-file"

DEFAULT_PROBLEMS, MAX_PROBLEMS = 20, 2000
DEFAULT_SKILLS, MAX_SKILLS = 50, 2000
_MAX_TEXT = 1024 * 1024

Run: TypeAlias = Callable[[Call], Awaitable[dict[str, Json]]]

_TEXT: dict[str, Json] = {"type": "string"}
_CHOICE: dict[str, Json] = {"type": ["boolean", "null"]}


@dataclass(frozen=True, slots=True)
class Action:
    """One thing that can be asked for or done: from arguments to a JSON object."""

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
    """Return what anybody can ask who may see the pages at all."""

    async def show_config(call: Call) -> dict[str, Json]:
        problems = _number(call, "problems", DEFAULT_PROBLEMS, MAX_PROBLEMS)
        return overview.config(problems, can_change=call.can_change)

    async def show_skills(call: Call) -> dict[str, Json]:
        if call.params.get("skill") is not None:
            return {"skill": overview.skill(call.text("skill"), can_change=call.can_change)}
        query = "" if call.params.get("query") is None else call.text("query")
        offset = _number(call, "offset", 0, 10_000_000)
        return overview.skills(query, offset, _number(call, "limit", DEFAULT_SKILLS, MAX_SKILLS))

    async def read_file(call: Call) -> dict[str, Json]:
        return await overview.text(call.text("uri"), _MAX_TEXT)

    return [
        Action(
            SHOW_CONFIG,
            "Show the configuration of this server: where its skills come from, each source with its state, "
            "and what is wrong.",
            {"problems": _whole_number("How many problems to return.")},
            (),
            show_config,
        ),
        Action(
            SHOW_SKILLS,
            "Show which skills are configured, or one of them with its files and problems.",
            {
                "query": {**_TEXT, "description": "Words that the skills must hold."},
                "skill": {**_TEXT, "description": "The name or URI of one skill, to see all of it."},
                "offset": _whole_number("Where to begin in the list."),
                "limit": _whole_number("How many skills to return."),
            },
            (),
            show_skills,
        ),
        Action(READ_FILE, "Read a file of a skill.", {"uri": _TEXT}, ("uri",), read_file),
    ]


def changing_actions(overview: Overview) -> list[Action]:
    """Return what changes the server and its configuration file. Each refuses callers who may not do that."""
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
            raise BadParamsError("give `assistant`, `user` or both, each `true`, `false` or `null`")
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
        _change("skill-config-remove-source", "Serve a source no more.", label, ("label",), remove_source),
        _change("skill-config-sync-source", "Fetch a source now.", label, ("label",), sync_source),
        _change(
            "skill-config-visibility",
            "Decide who may start a skill; `null` leaves it to the skill.",
            {"uri": _TEXT, "assistant": _CHOICE, "user": _CHOICE},
            ("uri",),
            set_visibility,
        ),
        _change(
            "skill-config-allowed-origins",
            "Decide to which further web sites publishers may send this server.",
            {"origins": {"type": "array", "items": _TEXT}},
            ("origins",),
            set_origins,
        ),
        _change(
            "skill-config-static",
            "Keep the set of skills as it is, or follow the sources again.",
            {"static": {"type": "boolean"}},
            ("static",),
            set_static,
        ),
    ]
    return [replace(each, run=_require_permission(each.run, overview.unlock)) for each in changes]


class ChangeNotAllowedError(UsageError):
    """The caller has shown no credential that lets it change the server."""


def _require_permission(run: Run, unlock: str) -> Run:
    async def guarded(call: Call) -> dict[str, Json]:
        if not call.can_change:
            raise ChangeNotAllowedError("this client may not change the server", hint=unlock)
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


def _number(call: Call, name: str, default: int, most: int) -> int:
    value = call.params.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadParamsError(f"the parameter `{name}` must be a whole number from 0 on")
    return min(value, most)


def _optional_text(call: Call, name: str) -> str | None:
    return None if call.params.get(name) is None else call.text(name).strip() or None


def _texts(call: Call, name: str) -> Sequence[str]:
    value = call.params.get(name)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast("list[object]", value)):
        raise BadParamsError(f"the parameter `{name}` must be a list of strings")
    return cast("list[str]", value)
