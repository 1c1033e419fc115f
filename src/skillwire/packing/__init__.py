"""Pack skills for people who use a client: a bundle for Claude Desktop, or a plugin folder."""
