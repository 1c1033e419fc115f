"""The repository contract: a team's rules for its skills beyond the Agent Skills standard.

`validate_skill_frontmatter` checks the frontmatter of one skill. `ContractOptions`, passed in
`ServeOptions.additions`, adds the contract to a server.
"""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.contract.feature import ContractOptions
    from skillwire.contract.frontmatter import SkillFrontmatter, validate_skill_frontmatter
    from skillwire.errors import ContractError

__all__ = ["ContractError", "ContractOptions", "SkillFrontmatter", "validate_skill_frontmatter"]

if not TYPE_CHECKING:  # type checkers see only the names above
    __getattr__, __dir__ = exports(
        __name__,
        {
            "ContractError": "skillwire.errors",
            "ContractOptions": "skillwire.contract.feature",
            "SkillFrontmatter": "skillwire.contract.frontmatter",
            "validate_skill_frontmatter": "skillwire.contract.frontmatter",
        },
    )
