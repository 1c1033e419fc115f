"""A server as a place that skills come from."""
