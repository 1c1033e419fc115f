"""Pages for people, in a browser and as MCP Apps."""
