"""`attach`: add skills to an existing MCP server."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from skillwire.app.areas import with_area_additions
from skillwire.app.collect import Servable, collect_skills
from skillwire.app.skill_server import SkillServer
from skillwire.authoring.skill import Skill, caller_folder
from skillwire.authoring.skills import Skills
from skillwire.errors import InvalidValueError, UsageError
from skillwire.server.attaching.attach import attach_to
from skillwire.server.serve_options import ServeOptions, chosen_options

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server
    from mcp.server.mcpserver import MCPServer
    from mcp.server.subscriptions import SubscriptionBus

    AnyServer: TypeAlias = "Server[Any] | MCPServer[Any] | FastMCPServer"


class FastMCPServer(Protocol):
    """The type of a `FastMCP` server, for type checkers without FastMCP installed."""

    @property
    def name(self) -> str: ...

    def add_provider(self, provider: Any, *, namespace: str = "") -> None: ...


def attach(
    server: "AnyServer",
    *skills: Servable | SkillServer,
    prompt: str | None = None,
    every_client: bool | None = None,
    options: ServeOptions | None = None,
    bus: "SubscriptionBus | None" = None,
) -> None:
    """Add `skills` to your own server: a low-level `Server`, an `MCPServer` or a `FastMCP`.

    `skills` are skills, collections, a `SkillServer`, sources, or folders relative to the calling file. With
    `prompt`, a single skill is also served as a prompt with this name. Clients without the Skills extension
    get tools, prompts and a list of skills, as set in `options`, unless `every_client` is False. If your
    server answers `subscriptions/listen` itself, pass the `bus` that carries its events.

    Raises `UsageError` without `skills`, `InvalidValueError` for an invalid skill, prompt or server, and
    `ConflictError` if skills conflict or the server already has skills.
    """
    base = caller_folder()
    if not skills:
        hint = 'pass a folder, as in `attach(server, "skills")`, or skills'
        raise UsageError("there is nothing to attach", hint=hint)
    parts: list[Servable] = [each.skills if isinstance(each, SkillServer) else each for each in skills]
    if prompt is not None:
        parts = [_with_prompt(parts, prompt)]
    collected = collect_skills(parts, label=_name_of(server), base=base)
    chosen = with_area_additions(chosen_options(options, every_client=every_client))
    attach_to(server, collected.library, collected.prompts, chosen, bus)


def _with_prompt(parts: Sequence[Servable], prompt: str) -> Skills:
    """Return the skill with its prompt. Raises `InvalidValueError` unless `parts` is exactly one `Skill`."""
    match parts:
        case [Skill() as skill]:
            return Skills().add(skill, prompt=prompt)
        case _:
            fix = "attach several as `Skills().add(skill, prompt=…).add(…)`"
            raise InvalidValueError("the prompt", prompt, "is for one skill", fix)


def _name_of(server: object) -> str:
    name = getattr(server, "name", None)
    return name if isinstance(name, str) and name else "code"
