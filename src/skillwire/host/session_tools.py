"""The tools that a session gives to a model: to load skills, and to read their files."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from skillwire.host.tools import AgentTool
from skillwire.model.entry import Json
from skillwire.model.errors import SkillwireError

if TYPE_CHECKING:
    from skillwire.host.session import Session

READ_SKILL = "read_skill"
READ_SKILL_FILE = "read_skill_file"
READ_RESOURCE = "read_resource"


def session_tools(session: "Session", *, resources: bool) -> tuple[AgentTool, ...]:
    """Return the tools. None of them raises for what a model or a server did: the answer says it."""

    async def read_skill(arguments: Mapping[str, Json]) -> str:
        return (await session.load_for_model(_text(arguments, "name"))).text

    async def read_skill_file(arguments: Mapping[str, Json]) -> str:
        return await session.read_for_model(_text(arguments, "name"), _text(arguments, "path"))

    async def read_resource(arguments: Mapping[str, Json]) -> str:
        return (await session.read_resource(_text(arguments, "server"), _text(arguments, "uri"))).text
