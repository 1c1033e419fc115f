"""Search: the index of a library, its ranking, the tool `search-skills` and the command `search`."""
