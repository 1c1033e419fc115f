"""Live skills: running programs connect to a server and answer calls (Model Drive Protocol)."""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.drive.client import Backoff, DriveClient
    from skillwire.drive.errors import DeniedError
    from skillwire.drive.exposed_paths import LiveContext, LiveRequest, Options
    from skillwire.drive.http import drive_mount
    from skillwire.drive.live import LiveSkills
    from skillwire.drive.policy import DriveLimits, Hooks, Invocation
    from skillwire.drive.registration import Auth, ClientInfo
    from skillwire.drive.tools import bridge_tools
    from skillwire.drive.transports import RefusedByServerError

__all__ = [
    "Auth",
    "Backoff",
    "ClientInfo",
    "DeniedError",
    "DriveClient",
    "DriveLimits",
    "Hooks",
    "Invocation",
    "LiveContext",
    "LiveRequest",
    "LiveSkills",
    "Options",
    "RefusedByServerError",
    "bridge_tools",
    "drive_mount",
]

if not TYPE_CHECKING:  # a type checker knows the names above, and no others
    __getattr__, __dir__ = exports(
        __name__,
        {
            "Auth": "skillwire.drive.registration",
            "Backoff": "skillwire.drive.client",
            "ClientInfo": "skillwire.drive.registration",
            "DeniedError": "skillwire.drive.errors",
            "DriveClient": "skillwire.drive.client",
            "DriveLimits": "skillwire.drive.policy",
            "Hooks": "skillwire.drive.policy",
            "Invocation": "skillwire.drive.policy",
            "LiveContext": "skillwire.drive.exposed_paths",
            "LiveRequest": "skillwire.drive.exposed_paths",
            "LiveSkills": "skillwire.drive.live",
            "Options": "skillwire.drive.exposed_paths",
            "RefusedByServerError": "skillwire.drive.transports",
            "bridge_tools": "skillwire.drive.tools",
            "drive_mount": "skillwire.drive.http",
        },
    )
