"""The commands `push` and `registry`."""
