"""One conversation with a model: what it is given, what it may read, and the tools for that."""
