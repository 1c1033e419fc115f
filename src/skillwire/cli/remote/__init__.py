"""Verbs over servers. They load the MCP SDK, so nothing imports them that only looks into folders."""
