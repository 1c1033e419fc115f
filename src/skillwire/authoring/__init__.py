"""Skills written in code: immutable values, checked where they are made."""
