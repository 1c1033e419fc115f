"""Skills inside a FastMCP server: a provider of native components, and the extension that comes with it."""
