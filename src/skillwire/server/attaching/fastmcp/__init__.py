"""Skills inside a server of FastMCP: a provider, an extension, and the view that both share."""
