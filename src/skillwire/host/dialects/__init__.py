"""Clients for the Skills extension, in its final form and in earlier drafts ("dialects")."""
