"""How MCP and its drafts represent skills; verification of entries and bytes; archives."""
