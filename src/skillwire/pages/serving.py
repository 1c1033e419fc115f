"""Add the pages to a server that `serve` starts: tools and resources for MCP Apps, routes for browsers."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillwire.area import ServeFlags, ServePart, ServerContext, ServeRequest
from skillwire.features.addition import AddedFeatures
from skillwire.pages.apps import AppPages, app_tools
from skillwire.pages.overview import UNLOCK_BRIDGE, UNLOCK_SERVER, Overview, ShowPlaces
from skillwire.terminal.messages import print_notice

if TYPE_CHECKING:
    from skillwire.server.http.address import HostPolicy
    from skillwire.server.http.routes import HttpMount


@dataclass(frozen=True, slots=True)
class PagesServeFlags(ServeFlags):
    """Adds the pages to every server that `serve` starts. There are no options."""

    def part(self, request: ServeRequest) -> ServePart:
        return PagesPart(editable=request.editable)


class PagesPart(ServePart):
    """Adds pages that show a server's skills and, if allowed, change the server."""

    def __init__(self, *, editable: bool) -> None:
        self.lets_in = "`--allow-config` lets pages change things" if editable else ""

    def features(self, server: ServerContext) -> AddedFeatures:
        return AddedFeatures(tools=app_tools(mcp_overview(server)), unlisted=[AppPages()])

    def mount(self, server: ServerContext, policy: "HostPolicy", token: str | None) -> "HttpMount":
        from skillwire.pages.connections import ConnectGuide  # noqa: PLC0415 - HTTP only
        from skillwire.pages.web import UNLOCK_PAGE, page_mount, page_sessions  # noqa: PLC0415 - HTTP only

        private = token is not None or policy.bound.is_loopback
        overview = Overview(
            server.library,
            server.admin,
            show_places=ShowPlaces.TO_ALL if private else ShowPlaces.NEVER,
            unlock=UNLOCK_PAGE,
            problems=server.problems,
            bridge=server.bridge,
            locked=UNLOCK_BRIDGE if server.bridge else UNLOCK_SERVER,
        )
        site = f"http://{policy.bound.authority}/"

        def with_key(key: str) -> str:  # a fragment is never sent to a server, and so never logged
            return f"to change things, open {site}#key={key} (works once)"

        sessions = page_sessions(overview, token, lambda key: print_notice(with_key(key)))
        lines = [f"open {site} in a browser to see the skills"]
        if sessions.key is not None:
            lines.append(with_key(sessions.key))
        connections = ConnectGuide(
            server.admin.sources, needs_token=token is not None, on_this_machine=private
        )
        return replace(page_mount(overview, sessions, connections), announced=tuple(lines))


def mcp_overview(server: ServerContext) -> Overview:
    """Return the overview for MCP clients. Only clients that can change the server see local paths."""
    return Overview(
        server.library,
        server.admin,
        show_places=ShowPlaces.TO_EDITORS if server.admin.editable else ShowPlaces.NEVER,
        problems=server.problems,
    )
