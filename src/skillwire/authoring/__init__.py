"""Skills written in code: immutable values that are checked when they are created."""
