"""Live skills behind the walls of the HTTP server."""

from skillwire.drive.hub import Hub
from skillwire.drive.identity import AUTH_PATH
from skillwire.drive.routes import drive_routes
from skillwire.server.http import Annex

_CONNECTIONS_EACH = 2
"""A client of the HTTP loop waits on one connection, and speaks on another."""


def drive_annex(hub: Hub, token: str | None = None) -> Annex:
    """Return what the HTTP application of a server with live skills holds besides."""
    drive = drive_routes(hub, token)
    return Annex(
        drive.routes,
        open_paths=frozenset({AUTH_PATH}),
        vouches=drive.identities.vouches,
        credentials=True,
        connections=_CONNECTIONS_EACH * hub.limits.sessions,
        message_bytes=hub.limits.body,
        close=hub.close,
    )
