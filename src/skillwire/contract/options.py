"""What a team chooses of the contract: the key of its block, and how strictly it is held to it."""

from dataclasses import dataclass

BLOCK_KEY = "x-personal-mcp"
"""The key of the block, unless a team has chosen another."""

STANDARD = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
"""The fields that every skill may have; none of them can be the block."""


@dataclass(frozen=True, slots=True)
class ContractOptions:
    """How a server holds skills to the contract."""

    key: str = BLOCK_KEY
    tolerant: bool = False
    """Whether skills that break the contract are left out, instead of holding up all others."""
