"""What can go wrong with live skills.

DriveError
├── FullError             no room for another client, path or call; ask again later
├── RefusedError          a client said what it may not say: its session ends
│   └── UnprovenError         it has not shown the token of this server
└── CallFailedError       a call has no result, and why
    ├── NoSuchPathError       no such client, or no such path of it
    ├── UnsendableError       what was asked cannot be sent to a client
    ├── DeniedError           a hook does not allow it
    ├── TimedOutError         the client did not answer in time
    ├── GoneError             the client went away before it answered
    ├── BusyError             the client has more calls than it answers
    └── ResolverError         the client answered that it failed
"""

from typing import ClassVar

from skillwire.drive.messages import CallError, ErrorCode
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.errors import SkillwireError


class DriveError(SkillwireError):
    """Anything about live skills."""


class FullError(DriveError):
    """A limit is reached."""


class RefusedError(DriveError):
    """The message of a client cannot be taken."""


class UnprovenError(RefusedError):
    """The client has not shown the token of this server."""

    def __init__(self) -> None:
        where = "in the header `authorization`, or as `auth.token` in the registration"
        super().__init__(f"this server wants its token: {where}")


class CallFailedError(DriveError):
    """A call to a running program that failed. `error` says why."""

    code: ClassVar[ErrorCode] = ErrorCode.TRANSPORT_ERROR

    @property
    def error(self) -> CallError:
        return CallError(self.code, str(self))


class NoSuchPathError(CallFailedError):
    code = ErrorCode.NOT_FOUND


class UnsendableError(CallFailedError):
    code = ErrorCode.BAD_REQUEST


class DeniedError(CallFailedError):
    """Raised by hooks to deny something. The caller gets its message."""

    code = ErrorCode.BAD_REQUEST


class TimedOutError(CallFailedError):
    code = ErrorCode.TIMEOUT

    def __init__(self, client_id: str, seconds: float) -> None:
        super().__init__(f"the client {quoted(client_id)} did not answer within {seconds:g} s")


class GoneError(CallFailedError):
    def __init__(self, client_id: str) -> None:
        super().__init__(f"the client {quoted(client_id)} went away before it answered")


class BusyError(CallFailedError):
    code = ErrorCode.NOT_READY

    def __init__(self, client_id: str) -> None:
        super().__init__(f"the client {quoted(client_id)} has not answered earlier calls; ask again later")


class ResolverError(CallFailedError):
    """The client's own words."""

    def __init__(self, error: CallError) -> None:
        super().__init__(error.message)
        self._error = error

    @property
    def error(self) -> CallError:
        return self._error


def failure(error: CallError) -> dict[str, Json]:
    """Return how a failed call is told."""
    return {"ok": False, "error": error.to_json()}
