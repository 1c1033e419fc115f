"""How skills are offered to clients, one file per MCP feature."""
