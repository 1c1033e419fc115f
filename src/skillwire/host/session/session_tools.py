"""The tools that a session gives to a model: to load skills, and to read their files."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from skillwire.host.session.tools import AgentTool
from skillwire.model.entry import Json
from skillwire.model.errors import BadParamsError, SkillwireError

if TYPE_CHECKING:
    from skillwire.host.session.session import Session

_Run: TypeAlias = Callable[..., Awaitable[str]]


def session_tools(session: "Session", *, resources: bool) -> tuple[AgentTool, ...]:
    """Return the tools. None of them raises for what a model or a server did: the answer tells it."""

    async def read_skill(name: str) -> str:
        return (await session.load_for_model(name)).text

    async def read_skill_file(name: str, path: str) -> str:
        return await session.read_for_model(name, path)

    async def read_resource(server: str, uri: str) -> str:
        return (await session.read_resource(server, uri)).text

    tools = (
        _tool(
            "read_skill",
            "Load a skill: instructions for a particular task. They come from the server or folder that the "
            "answer names. The user may be asked first.",
            {"name": "The name of the skill, as it is listed, such as `acme:refunds`."},
            read_skill,
        ),
        _tool(
            "read_skill_file",
            "Read a file of a skill that is loaded. A folder returns the list of the files in it.",
            {
                "name": "The name of the skill.",
                "path": "Relative to the skill, as its text writes it; empty for the list of all files.",
            },
            read_skill_file,
        ),
        _tool(
            "read_resource",
            "Read a resource of a server. The user is asked if a skill of another server is loaded.",
            {"server": "The label of the server.", "uri": "The URI of the resource."},
            read_resource,
        ),
    )
    return tools if resources else tools[:2]


def _tool(name: str, description: str, parameters: Mapping[str, str], run: _Run) -> AgentTool:
    properties: dict[str, Json] = {
        key: {"type": "string", "description": text} for key, text in parameters.items()
    }
    schema: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": list(parameters),
        "additionalProperties": False,
    }

    async def call(arguments: Mapping[str, Json]) -> str:
        try:
            return await run(*(_text(arguments, key) for key in parameters))
        except SkillwireError as error:
            return f"error: {error}"

    return AgentTool(name, description, schema, call)


def _text(arguments: Mapping[str, Json], key: str) -> str:
    if not isinstance(value := arguments.get(key), str):
        raise BadParamsError(f"the parameter `{key}` is missing, or is not a text")
    return value
