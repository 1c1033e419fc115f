"""How MCP and its drafts spell skills; verifying entries and bytes; archives."""
