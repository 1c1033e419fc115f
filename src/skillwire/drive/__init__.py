"""Live skills: running programs connect, register paths, and answer reads (Model Drive Protocol)."""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.drive.bridge import bridge_tools
    from skillwire.drive.carrying import RefusedByServerError
    from skillwire.drive.client import Backoff, DriveClient
    from skillwire.drive.errors import DeniedError
    from skillwire.drive.exposing import LiveContext, LiveRequest, Options
    from skillwire.drive.hooks import Hooks, Invocation
    from skillwire.drive.limits import DriveLimits
    from skillwire.drive.live import LiveSkills
    from skillwire.drive.registration import Auth, ClientInfo

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
            "DriveLimits": "skillwire.drive.limits",
            "Hooks": "skillwire.drive.hooks",
            "Invocation": "skillwire.drive.hooks",
            "LiveContext": "skillwire.drive.exposing",
            "LiveRequest": "skillwire.drive.exposing",
            "LiveSkills": "skillwire.drive.live",
            "Options": "skillwire.drive.exposing",
            "RefusedByServerError": "skillwire.drive.carrying",
            "bridge_tools": "skillwire.drive.bridge",
        },
    )
