"""The consuming side: skills of servers that somebody else runs."""
