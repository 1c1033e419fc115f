"""Attach skills to a FastMCP server: a provider, an extension, and the view that both share."""
