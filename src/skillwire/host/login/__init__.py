"""Logging in to servers that require OAuth: the login itself, where tokens are stored, and their renewal."""
