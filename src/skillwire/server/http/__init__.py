"""An MCP server over streamable HTTP: `/mcp`, `/healthz`, and the guards around them."""
