"""What the server costs, measured: start it with `scripts/bench`."""
