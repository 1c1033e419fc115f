"""Serve MCP over streamable HTTP: `/mcp`, `/healthz`, and the guards around them."""
