"""Surfaces to a running MCP server, over stdio and HTTP.

Authors take `SkillServer` and `attach` from here, and `ServeOptions`, which says how skills are offered to
clients that know nothing of the extension. `PromptContent` is one of its options.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillwire.server.attaching import attach
    from skillwire.server.serve_options import ServeOptions
    from skillwire.server.skill_server import SkillServer
    from skillwire.surfaces.prompts import PromptContent

__all__ = ["PromptContent", "ServeOptions", "SkillServer", "attach"]

_OWNERS = {
    "ServeOptions": "skillwire.server.serve_options",
    "PromptContent": "skillwire.surfaces.prompts",
    "SkillServer": "skillwire.server.skill_server",
    "attach": "skillwire.server.attaching",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for: most of this folder is of interest to few."""
    if name not in _OWNERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_OWNERS[name]), name)
