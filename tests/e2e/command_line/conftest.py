"""Fixtures of the tests of the command line."""

from tests.support.command_line_fixtures import cli, good, here, plain_environment

__all__ = ["cli", "good", "here", "plain_environment"]
