"""Where the project is, for tests that look at its files."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The folder of the project."""
