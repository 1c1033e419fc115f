"""Logging in to servers that demand OAuth: tokens, where they are kept, and how they are got and renewed."""
