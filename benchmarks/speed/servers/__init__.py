"""The peers and the floors, each a program of its own."""
