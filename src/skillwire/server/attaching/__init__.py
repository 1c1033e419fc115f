"""Skills inside a server that somebody has already, in one line."""
