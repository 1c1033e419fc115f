"""Tools for the tests of adapters: two that work, and one that says no."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from skillwire import AgentTool
from skillwire.core.record import Json
from skillwire.errors import NotServedError


def closed(**properties: Json) -> dict[str, Json]:
    """Return the schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@dataclass
class RecordedTools:
    """What was called with which arguments."""

    calls: list[tuple[str, Mapping[str, Json]]] = field(default_factory=list[tuple[str, Mapping[str, Json]]])

    def tools(self) -> list[AgentTool]:
        name: dict[str, Json] = {"type": "string", "description": "The name of the skill."}
        path: dict[str, Json] = {"type": "string", "description": "Relative to the skill."}
        return [
            AgentTool("read_skill", "Load a skill.", closed(name=name), self._answer("read_skill")),
            AgentTool("read_file", "Read a file.", closed(name=name, path=path), self._answer("read_file")),
            AgentTool("list_skills", "List them.", closed(), self._answer("list_skills")),
            AgentTool("refuse", "Never works.", closed(name=name), self._refuse),
        ]

    def _answer(self, tool: str) -> Callable[[Mapping[str, Json]], Awaitable[str]]:
        async def call(arguments: Mapping[str, Json]) -> str:
            self.calls.append((tool, arguments))
            return f"{tool} says {sorted(arguments.items())}"

        return call

    async def _refuse(self, arguments: Mapping[str, Json]) -> str:
        self.calls.append(("refuse", arguments))
        raise NotServedError("skill://refunds/SKILL.md", "skill")
