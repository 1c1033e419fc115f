"""Skills inside a server that somebody has already, in one line."""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

from mcp.server.lowlevel.server import Server
from mcp.server.subscriptions import SubscriptionBus

from skillwire.authoring.folder import caller_folder
from skillwire.authoring.registry import Skills
from skillwire.authoring.rules import AuthoringError
from skillwire.authoring.skill import Skill
from skillwire.server.attached import Attached
from skillwire.server.gathering import Servable, gathered
from skillwire.server.serve_options import ServeOptions
from skillwire.server.skill_server import FOR_HOSTS, SkillServer

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    AnyServer: TypeAlias = "Server[Any] | MCPServer[Any] | FastMCPServer"


class FastMCPServer(Protocol):
    """What a `FastMCP` is to a type checker, whether it is installed or not."""

    @property
    def name(self) -> str: ...

    def add_provider(self, provider: Any, *, namespace: str = "") -> None: ...


def attach(
    server: "AnyServer",
    *skills: Servable | SkillServer,
    prompt: str | None = None,
    options: ServeOptions = FOR_HOSTS,
    bus: SubscriptionBus | None = None,
) -> None:
    """Add `skills` to a server that you have: a low-level `Server`, `MCPServer` or `FastMCP`.

    `skills` are values, collections, a `SkillServer`, sources, or folders relative to the calling file. With
    `prompt`, one skill is also a prompt of this name. `ServeOptions()` adds tools, prompts and a list of
    skills for clients without the extension. Pass the `bus` of your own `subscriptions/listen`, if you have
    one.

    Raises `AuthoringError` or `ConflictError` for skills that cannot be, and `ConflictError` for a server
    that serves skills already.
    """
    base = caller_folder()
    parts: list[Servable] = [each.skills if isinstance(each, SkillServer) else each for each in skills]
    if prompt is not None:
        parts = [_with_prompt(parts, prompt)]
    everything = gathered(parts, label=_name_of(server), base=base)
    lowlevel = _lowlevel(server)
    if lowlevel is not None:
        Attached(lowlevel, everything, options, bus)
    elif _is_fastmcp(server):
        import_module("skillwire.server.fastmcp.plugin").plug_in(server, everything, options)
    else:
        fix = "attach them to a `Server` or `MCPServer` of the official SDK, or to a `FastMCP`"
        rule = "is nothing that skills can be attached to"
        raise AuthoringError("the value", repr(server), rule, fix)


def _with_prompt(parts: Sequence[Servable], prompt: str) -> Skills:
    match parts:
        case [Skill() as skill]:
            return Skills().add(skill, prompt=prompt)
        case _:
            fix = "attach several as `Skills().add(skill, prompt=…).add(…)`"
            raise AuthoringError("the prompt", prompt, "is for one skill", fix)


def _lowlevel(server: object) -> Server[Any] | None:
    """Return a server of the official SDK, or the one inside an `MCPServer`, which has no public name."""
    candidates: list[object] = [server, getattr(server, "_lowlevel_server", None)]
    return next((cast("Server[Any]", each) for each in candidates if isinstance(each, Server)), None)


def _is_fastmcp(server: object) -> bool:
    """Whether it is one, without loading a package that few have."""
    return any(
        f"{kind.__module__}.{kind.__name__}" == "fastmcp.server.server.FastMCP"
        for kind in type(server).__mro__
    )


def _name_of(server: object) -> str:
    name = getattr(server, "name", None)
    return name if isinstance(name, str) and name else "code"
