"""Fixtures of the tests of `skillwire pack`."""

from tests.support.command_line_fixtures import cli, good, here, plain_environment

__all__ = ["cli", "good", "here", "plain_environment"]
