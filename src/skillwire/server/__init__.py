"""MCP servers of skills: in code, inside your own server, over stdio and HTTP."""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.server.address import Address, HostPolicy
    from skillwire.server.attaching import attach
    from skillwire.server.drive import drive_annex
    from skillwire.server.http import http_app, serve_http
    from skillwire.server.port import listen
    from skillwire.server.serve_options import Channel, ServeOptions
    from skillwire.server.skill_server import SkillServer
    from skillwire.server.skills import skills_server
    from skillwire.server.stdio import serve_stdio
    from skillwire.surfaces.prompts import PromptContent
    from skillwire.surfaces.tools import SkillTools

__all__ = [
    "Address",
    "Channel",
    "HostPolicy",
    "PromptContent",
    "ServeOptions",
    "SkillServer",
    "SkillTools",
    "attach",
    "drive_annex",
    "http_app",
    "listen",
    "serve_http",
    "serve_stdio",
    "skills_server",
]

if not TYPE_CHECKING:  # a type checker knows the names above, and no others
    __getattr__, __dir__ = exports(
        __name__,
        {
            "Address": "skillwire.server.address",
            "Channel": "skillwire.server.serve_options",
            "HostPolicy": "skillwire.server.address",
            "PromptContent": "skillwire.surfaces.prompts",
            "ServeOptions": "skillwire.server.serve_options",
            "SkillServer": "skillwire.server.skill_server",
            "SkillTools": "skillwire.surfaces.tools",
            "attach": "skillwire.server.attaching",
            "drive_annex": "skillwire.server.drive",
            "http_app": "skillwire.server.http",
            "listen": "skillwire.server.port",
            "serve_http": "skillwire.server.http",
            "serve_stdio": "skillwire.server.stdio",
            "skills_server": "skillwire.server.skills",
        },
    )
