"""Plugging skills into somebody's FastMCP server."""

from typing import Any

from fastmcp import FastMCP

from skillwire.model.errors import ConflictError
from skillwire.server.attached import ONE_CALL
from skillwire.server.fastmcp.provider import SkillsProvider
from skillwire.server.fastmcp.tree import SkillHolder
from skillwire.server.gathering import Gathered
from skillwire.server.serve_options import ServeOptions
from skillwire.wire.messages import EXTENSION


def plug_in(server: FastMCP[Any], everything: Gathered, options: ServeOptions) -> None:
    """Add a provider of skills to a server. Raises `ConflictError` if it serves skills already."""
    if any(isinstance(provider, SkillHolder) for provider in server.providers):
        raise ConflictError(f"the server has skills already; {ONE_CALL}")
    # FastMCP would keep the other extension, and say so nowhere.
    extensions: Any = server._extensions  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    declared = extensions.get(EXTENSION)
    if declared is not None and not declared.auto_register:
        raise ConflictError(
            f"the server has another extension for `{EXTENSION}`; take it out, and attach its folders, too"
        )
    server.add_provider(SkillsProvider(everything, options))
