"""Find the servers in the configuration files of MCP clients, and describe how to connect each client."""
