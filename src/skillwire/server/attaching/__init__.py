"""Attach skills to an existing MCP server."""
