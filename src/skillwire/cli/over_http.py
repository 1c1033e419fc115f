"""A server of a verb over HTTP: what only a server on the network needs, and loads."""

import os
from collections.abc import Iterator

from skillwire.cli.gateway import Gateway
from skillwire.cli.listening import Endpoint
from skillwire.cli.saying import say
from skillwire.cli.service import Service
from skillwire.config.settings import http_limits_from
from skillwire.server.annexes import joined
from skillwire.server.drive import drive_annex
from skillwire.server.http import MCP_PATH, Annex, http_app, serve_http
from skillwire.server.pages import page_annex


async def serve_over_http(service: Service, endpoint: Endpoint) -> None:
    """Serve at the endpoint until a signal to stop arrives."""
    gateway = service.gateway
    annex = joined([] if gateway is None else list(_annexes(gateway, endpoint)))
    limits = http_limits_from(os.environ)
    app = http_app(service.server(), endpoint.policy, endpoint.token, annex, lane=service.lane, limits=limits)

    def announce() -> None:
        authority = endpoint.policy.bound.authority
        if gateway is not None and gateway.live is not None:
            say(f"programs connect to ws://{authority}")
        if gateway is not None:
            say(f"open http://{authority}/ in a browser to see the skills")
        say(f"serving on http://{authority}{MCP_PATH}")

    await serve_http(app, endpoint.listening, announce, annex)


def _annexes(gateway: Gateway, endpoint: Endpoint) -> Iterator[Annex]:
    """Yield the pages, and the way in for programs."""
    private = endpoint.token is not None or endpoint.policy.bound.is_loopback
    yield page_annex(gateway.overview(show_places=private), endpoint.token)
    if gateway.live is not None:
        yield drive_annex(gateway.live, endpoint.token)
