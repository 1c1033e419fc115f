"""Servers as sources of skills: the link to a server, its records, and the source."""
