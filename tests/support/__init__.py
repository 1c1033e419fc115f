"""Helpers shared by several test files: skills on disk, test servers, and clients that send exact bytes."""
