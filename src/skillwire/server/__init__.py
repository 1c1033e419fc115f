"""Surfaces to a running MCP server, over stdio and HTTP. Authors take `SkillServer` from here."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillwire.server.skill_server import SkillServer

__all__ = ["SkillServer"]


def __getattr__(name: str) -> Any:
    """Load what is asked for: most of this folder is of interest to few."""
    if name != "SkillServer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("skillwire.server.skill_server").SkillServer
