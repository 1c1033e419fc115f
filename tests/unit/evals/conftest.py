"""Fixtures of the tests of `skillwire eval`."""

from tests.support.command_line_fixtures import cli, plain_environment

__all__ = ["cli", "plain_environment"]
