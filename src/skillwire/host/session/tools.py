"""A tool for an agent, as one record that any framework can be given."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import cast

from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.errors import BadParamsError, InvalidValueError

_TYPES: Mapping[object, type] = {"string": str, "integer": int, "boolean": bool}
"""The types that a parameter may have, and what they are once they came from JSON."""


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool for a model: name, description, schema, and the function to call.

    Every parameter is required and no other is taken, because some models are offered nothing else.
    """

    name: str
    description: str
    parameters: Mapping[str, Json]
    """A JSON schema: an object whose properties are texts, whole numbers or booleans."""
    call: Callable[[Mapping[str, Json]], Awaitable[str]]
    """Takes arguments that fit the schema. Raises `SkillwireError`, with a message for the model."""

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
        """Check what a model wrote, then call. Raises `BadParamsError`, and what `call` raises."""
        return await self.call(self.checked(arguments))

    def checked(self, arguments: object) -> Mapping[str, Json]:
        """Return the arguments if they fit the schema. Raises `BadParamsError`, which says what to write."""
        if not isinstance(arguments, dict):
            raise BadParamsError(f"the arguments of {quoted(self.name)} are not an object; {self._expected}")
        given = cast("dict[str, Json]", arguments)
        for name in given:
            if name not in self._properties:
                raise BadParamsError(f"{quoted(self.name)} has no parameter {quoted(name)}; {self._expected}")
        for name, schema in self._properties.items():
            kind = cast("Mapping[str, Json]", schema)["type"]
            if name not in given:
                raise BadParamsError(
                    f"{quoted(self.name)} needs the parameter {quoted(name)}; {self._expected}"
                )
            if type(given[name]) is not _TYPES[kind]:
                raise BadParamsError(f"the parameter {quoted(name)} of {quoted(self.name)} is no {kind}")
        return given

    @property
    def _properties(self) -> Mapping[str, Json]:
        return cast("Mapping[str, Json]", self.parameters.get("properties", {}))

    @property
    def _expected(self) -> str:
        return f"write {', '.join(map(quoted, self._properties)) or 'an empty object'}"
