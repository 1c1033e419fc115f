"""The key of the contract's metadata block, and the fields that cannot be one."""

BLOCK_KEY = "x-personal-mcp"
"""The key of the block, unless a team has chosen another."""

STANDARD = ("name", "description", "license", "compatibility", "allowed-tools", "metadata")
"""The fields that every skill may have; none of them can be the block."""
