"""The repository contract: what a team's skills promise beyond the standard, checked, drawn and projected.

`validate_skill_frontmatter` is the way in for programs. `ContractOptions` is for `ServeOptions.additions`.
"""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.contract.feature import ContractOptions
    from skillwire.contract.frontmatter import SkillFrontmatter, validate_skill_frontmatter
    from skillwire.errors import ContractError

__all__ = ["ContractError", "ContractOptions", "SkillFrontmatter", "validate_skill_frontmatter"]

if not TYPE_CHECKING:  # a type checker knows the names above, and no others
    __getattr__, __dir__ = exports(
        __name__,
        {
            "ContractError": "skillwire.errors",
            "ContractOptions": "skillwire.contract.feature",
            "SkillFrontmatter": "skillwire.contract.frontmatter",
            "validate_skill_frontmatter": "skillwire.contract.frontmatter",
        },
    )
