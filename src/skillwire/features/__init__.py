"""The MCP features through which clients use skills, one module for each feature."""
