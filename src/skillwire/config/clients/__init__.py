"""Find the servers in the configuration files of MCP clients.

These files are only read, never changed.
"""
