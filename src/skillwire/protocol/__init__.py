"""Skills in MCP and its drafts: parse, write and verify entries, files and archives."""
