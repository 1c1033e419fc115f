"""How skills are offered to clients. One file per MCP feature."""
