"""Commands of the repository contract."""
