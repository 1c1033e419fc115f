"""Clients for every dialect: the Skills extension, its earlier drafts, and skills from before it."""
