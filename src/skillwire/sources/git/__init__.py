"""Repositories: their addresses, and copies of them made with the `git` program."""
