"""Tools for a model: a framework-neutral tool type, and the tools of a session."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from skillwire.core.record import Json
from skillwire.errors import BadParamsError, InvalidValueError, SkillwireError
from skillwire.library.names import UnknownNameError
from skillwire.library.search import is_installed
from skillwire.safe_text import quoted

if TYPE_CHECKING:
    from skillwire.host.session.session import Session

SEARCH_TOOL = "search_skills"
_TYPES: Mapping[object, type] = {"string": str, "integer": int, "boolean": bool}
"""The JSON types that a parameter may have, and their Python types."""
_Run: TypeAlias = Callable[..., Awaitable[str]]


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool for a model: name, description, schema, and the function to call.

    Every parameter is required, and no others are accepted, because some model APIs allow nothing else.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    """A JSON schema: an object whose properties are strings, integers or booleans."""
    call: Callable[[Mapping[str, Json]], Awaitable[str]]
    """Takes arguments that fit the schema, and returns text for the model. May raise `SkillwireError`."""

    def __post_init__(self) -> None:
        for name, schema in self._properties.items():
            if not isinstance(schema, dict) or schema.get("type") not in _TYPES:
                raise InvalidValueError("parameters", name, "a text, a whole number or a boolean")
        if (
            self.parameters.get("type") != "object"
            or self.parameters.get("additionalProperties") is not False
        ):
            raise InvalidValueError(
                "parameters", self.name, "the schema of an object without other properties"
            )
        if self.parameters.get("required") != list(self._properties):
            raise InvalidValueError(
                "parameters", self.name, "a schema that requires every property, in order"
            )

    async def invoke(self, arguments: object) -> str:
        """Validate a model's arguments, then call `call`. Raises `BadParamsError`, and what `call` raises."""
        return await self.call(self.validate_arguments(arguments))

    def validate_arguments(self, arguments: object) -> Mapping[str, Json]:
        """Return the arguments if they fit the schema. Raises `BadParamsError` with advice for the model."""
        if not isinstance(arguments, dict):
            raise BadParamsError(f"the arguments of {quoted(self.name)} are not an object; {self._expected}")
        values = cast("dict[str, Json]", arguments)
        for name in values:
            if name not in self._properties:
                raise BadParamsError(f"{quoted(self.name)} has no parameter {quoted(name)}; {self._expected}")
        for name, schema in self._properties.items():
            kind = cast("Mapping[str, Json]", schema)["type"]
            if name not in values:
                raise BadParamsError(
                    f"{quoted(self.name)} needs the parameter {quoted(name)}; {self._expected}"
                )
            if type(values[name]) is not _TYPES[kind]:
                raise BadParamsError(
                    f"the parameter {quoted(name)} of {quoted(self.name)} is not of type {kind}"
                )
        return values

    @property
    def _properties(self) -> Mapping[str, Json]:
        return cast("Mapping[str, Json]", self.parameters.get("properties", {}))

    @property
    def _expected(self) -> str:
        return f"write {', '.join(map(quoted, self._properties)) or 'an empty object'}"


def session_tools(session: "Session", *, resources: bool) -> tuple[AgentTool, ...]:
    """Return the tools of a session; with `resources`, also `read_resource`.

    The `call` of each tool returns a `SkillwireError` as text for the model instead of raising it.
    """

    async def read_skill(name: str) -> str:
        try:
            return (await session.load_for_model(name)).text
        except UnknownNameError as error:
            raise await session.explain_unknown(name, error) from error

    async def read_skill_file(name: str, path: str) -> str:
        return await session.read_for_model(name, path)

    async def search_skills(query: str, cursor: str) -> str:
        return await session.search_for_model(query, cursor or None)

    async def read_resource(server: str, uri: str) -> str:
        return (await session.read_resource(server, uri)).text

    search = _tool(
        SEARCH_TOOL,
        "Find skills for a task. Returns the names and descriptions of the skills that fit best. Load the "
        "right one with `read_skill`. This changes nothing, and asks no one.",
        {
            "query": "What the skill should help with, in a few words, such as `fill in a PDF form`.",
            "cursor": "Empty for the first results; for more of them, the cursor that the last answer names.",
        },
        search_skills,
    )
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
    every = tools if resources else tools[:2]
    return (*every, search) if is_installed() else every


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
