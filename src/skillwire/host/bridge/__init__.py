"""Servers as sources of skills: one of them, or many in front of clients that cannot ask a person."""
