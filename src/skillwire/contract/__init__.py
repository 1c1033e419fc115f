"""The repository contract: what a team's skills promise beyond the standard, checked, drawn and projected.

`validate_skill_frontmatter` is the way in for programs. Nothing here reads a disk or loads the MCP SDK.
"""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.contract.frontmatter import SkillFrontmatter, validate_skill_frontmatter
    from skillwire.errors import ContractError

__all__ = ["ContractError", "SkillFrontmatter", "validate_skill_frontmatter"]

if not TYPE_CHECKING:  # a type checker knows the names above, and no others
    __getattr__, __dir__ = exports(__name__, dict.fromkeys(__all__, "skillwire.contract.frontmatter"))
