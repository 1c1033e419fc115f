"""Serve MCP over streamable HTTP: the application, its guards and limits, and routes beside `/mcp`."""
