"""A server of a verb over HTTP: what only a server on the network needs, and loads."""

from functools import partial

from skillwire.cli.gateway import Gateway
from skillwire.cli.listening import Endpoint
from skillwire.cli.saying import say
from skillwire.cli.service import Service
from skillwire.server.annexes import joined
from skillwire.server.drive import drive_annex
from skillwire.server.http import MCP_PATH, Annex, http_app, serve_http
from skillwire.server.pages import UNLOCK_PAGE, page_annex, page_sessions
from skillwire.server.well_known import well_known_annex
from skillwire.surfaces.overview import Overview, ShowPlaces


async def serve_over_http(service: Service, endpoint: Endpoint) -> None:
    """Serve at the endpoint until a signal to stop arrives."""
    gateway, authority = service.gateway, endpoint.policy.bound.authority
    annexes: list[Annex] = []
    if service.well_known:
        annexes.append(well_known_annex(service.library, private=service.freshness.private))
    key: str | None = None
    if gateway is not None:
        overview = _overview_for_pages(gateway, endpoint)
        sessions = page_sessions(overview, endpoint.token, partial(_say_key, authority))
        key = sessions.key
        annexes.append(page_annex(overview, sessions))
    if gateway is not None and gateway.live is not None:
        annexes.append(drive_annex(gateway.live, endpoint.token))
    annex = joined(annexes)
    app = http_app(
        service.server(), endpoint.policy, endpoint.token, annex, lane=service.lane, limits=endpoint.limits
    )

    def announce() -> None:
        if gateway is not None and gateway.live is not None:
            say(f"programs connect to ws://{authority}")
        if gateway is not None:
            say(f"open http://{authority}/ in a browser to see the skills")
        if key is not None:
            _say_key(authority, key)
        say(f"serving on http://{authority}{MCP_PATH}")

    await serve_http(app, endpoint.listening, announce, annex)


def _overview_for_pages(gateway: Gateway, endpoint: Endpoint) -> Overview:
    private = endpoint.token is not None or endpoint.policy.bound.is_loopback
    return gateway.overview(
        show_places=ShowPlaces.TO_ALL if private else ShowPlaces.NEVER, unlock=UNLOCK_PAGE
    )


def _say_key(authority: str, key: str) -> None:
    """Print the address that lets one browser change things. No server and no log sees a fragment."""
    say(f"to change things, open http://{authority}/#key={key} (works once)")
