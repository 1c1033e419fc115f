"""What the pages add to every `serve`: tools and resources for MCP Apps, and routes for browsers."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillwire.area import ServeFlags, ServePart, ServerContext, ServeRequest
from skillwire.features.addition import AddedFeatures
from skillwire.pages.apps import AppPages, app_tools
from skillwire.pages.overview import Overview, ShowPlaces
from skillwire.terminal.messages import print_notice

if TYPE_CHECKING:
    from skillwire.server.http.address import HostPolicy
    from skillwire.server.http.routes import HttpMount


@dataclass(frozen=True, slots=True)
class PagesServeFlags(ServeFlags):
    """The pages have no options of their own."""

    def part(self, request: ServeRequest) -> ServePart:
        return PagesPart(editable=request.editable)


class PagesPart(ServePart):
    """Shows the skills of a server, and lets people change it if that is allowed."""

    def __init__(self, *, editable: bool) -> None:
        self.lets_in = "`--allow-config` lets pages change things" if editable else ""

    def features(self, server: ServerContext) -> AddedFeatures:
        return AddedFeatures(tools=app_tools(mcp_overview(server)), unlisted=[AppPages()])

    def mount(self, server: ServerContext, policy: "HostPolicy", token: str | None) -> "HttpMount":
        from skillwire.pages.web import UNLOCK_PAGE, page_mount, page_sessions  # noqa: PLC0415 - HTTP only

        private = token is not None or policy.bound.is_loopback
        overview = Overview(
            server.library,
            server.admin,
            show_places=ShowPlaces.TO_ALL if private else ShowPlaces.NEVER,
            unlock=UNLOCK_PAGE,
            problems=server.problems,
        )
        site = f"http://{policy.bound.authority}/"

        def with_key(key: str) -> str:  # no server and no log sees a fragment
            return f"to change things, open {site}#key={key} (works once)"

        sessions = page_sessions(overview, token, lambda key: print_notice(with_key(key)))
        told = [f"open {site} in a browser to see the skills"]
        if sessions.key is not None:
            told.append(with_key(sessions.key))
        return replace(page_mount(overview, sessions), announced=tuple(told))


def mcp_overview(server: ServerContext) -> Overview:
    """Return what MCP clients see. Paths on this machine only if they may change the server."""
    return Overview(
        server.library,
        server.admin,
        show_places=ShowPlaces.TO_EDITORS if server.admin.editable else ShowPlaces.NEVER,
        problems=server.problems,
    )
