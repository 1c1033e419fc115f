"""Skills written in code: immutable values, checked when they are created, and a source that serves them."""
