"""How skills are offered, one file for each MCP feature. Knows nothing of any SDK."""
