"""Servers that speak earlier drafts: asked in the order of the drafts' age, and called by their names."""
