"""The repository contract: what a team's skills promise beyond the standard, checked, drawn and projected.

`validate_skill_frontmatter` is the way in for programs. Nothing here reads a disk or loads the MCP SDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillwire.contract.frontmatter import ContractError, SkillFrontmatter, validate_skill_frontmatter

__all__ = ["ContractError", "SkillFrontmatter", "validate_skill_frontmatter"]


def __getattr__(name: str) -> Any:
    """Load a value when it is asked for: who only wants the terms pays for no rule."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("skillwire.contract.frontmatter"), name)
