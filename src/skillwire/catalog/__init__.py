"""What is served right now: an immutable snapshot, and the library that swaps it."""
