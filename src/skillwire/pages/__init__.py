"""Web pages that show and change a server, in a browser and as MCP Apps."""
