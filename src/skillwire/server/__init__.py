"""Surfaces to a running MCP server, over stdio and HTTP."""
