"""Live skills behind the walls of the HTTP server."""

from skillwire.drive.identity import AUTH_PATH
from skillwire.drive.live import LiveSkills
from skillwire.drive.routes import drive_routes
from skillwire.server.http import Annex

_CONNECTIONS_EACH = 2
"""A client of the HTTP loop waits on one connection, and speaks on another."""


def drive_annex(live: LiveSkills, token: str | None = None) -> Annex:
    """Return the routes of live skills, for `http_app`."""
    hub = live.hub
    drive = drive_routes(hub, token, live.headers)
    return Annex(
        drive.routes,
        open_paths=frozenset({AUTH_PATH}),
        vouches=drive.identities.vouches,
        credentials=True,
        connections=_CONNECTIONS_EACH * hub.limits.sessions,
        message_bytes=hub.limits.body,
        running=live.running,
        close=hub.close,
    )
