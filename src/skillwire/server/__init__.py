"""Build MCP servers for skills, and serve them over stdio and HTTP."""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.features.addition import Addition
    from skillwire.features.prompt_messages import PromptContent, PromptScope
    from skillwire.features.tools import SkillTools
    from skillwire.protocol.messages import Freshness
    from skillwire.server.build import skills_server
    from skillwire.server.http.address import Address, HostPolicy, listen
    from skillwire.server.http.app import http_app, serve_http
    from skillwire.server.serve_options import Channel, ServeOptions
    from skillwire.server.stdio.serve import serve_stdio

__all__ = [
    "Addition",
    "Address",
    "Channel",
    "Freshness",
    "HostPolicy",
    "PromptContent",
    "PromptScope",
    "ServeOptions",
    "SkillTools",
    "http_app",
    "listen",
    "serve_http",
    "serve_stdio",
    "skills_server",
]

if not TYPE_CHECKING:  # a type checker must see only the names above
    __getattr__, __dir__ = exports(
        __name__,
        {
            "Addition": "skillwire.features.addition",
            "Address": "skillwire.server.http.address",
            "Freshness": "skillwire.protocol.messages",
            "Channel": "skillwire.server.serve_options",
            "HostPolicy": "skillwire.server.http.address",
            "PromptContent": "skillwire.features.prompt_messages",
            "PromptScope": "skillwire.features.prompt_messages",
            "ServeOptions": "skillwire.server.serve_options",
            "SkillTools": "skillwire.features.tools",
            "http_app": "skillwire.server.http.app",
            "listen": "skillwire.server.http.address",
            "serve_http": "skillwire.server.http.app",
            "serve_stdio": "skillwire.server.stdio.serve",
            "skills_server": "skillwire.server.build",
        },
    )
