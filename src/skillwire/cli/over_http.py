"""A server of a verb over HTTP: what only a server on the network needs, and loads."""

from skillwire.cli.endpoint import Endpoint
from skillwire.cli.output import talk
from skillwire.cli.service import Service
from skillwire.server.descriptors import allow_connections
from skillwire.server.drive import drive_annex
from skillwire.server.http import MCP_PATH, http_app, serve_http


async def serve_over_http(service: Service, endpoint: Endpoint) -> None:
    """Serve at the endpoint until a signal to stop arrives."""
    live, token = service.live, endpoint.token
    annex = None if live is None else drive_annex(live, token)
    app = http_app(service.server(), endpoint.policy, token, annex, service.lane)
    authority = endpoint.policy.bound.authority

    def announce() -> None:
        if live is not None:
            talk().print(f"programs connect to ws://{authority}")
        talk().print(f"serving on http://{authority}{MCP_PATH}")

    if annex is not None:
        allow_connections(annex.connections)
    await serve_http(app, endpoint.listening, announce, annex)
