"""Fixtures of the tests of the registry."""

from tests.support.command_line_fixtures import cli, plain_environment

__all__ = ["cli", "plain_environment"]
