"""What can go wrong with live skills.

`DriveError` and `CallFailedError` are in `skillwire.errors`.

DriveError
├── FullError             no room for another client, path or call; ask again later
├── ProtocolViolationError          a client said what it may not say: its session ends
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

from skillwire.core.record import Json
from skillwire.drive.messages import CallError, ErrorCode
from skillwire.errors import CallFailedError, DriveError
from skillwire.safe_text import quoted


class FullError(DriveError):
    """A limit is reached."""


class ProtocolViolationError(DriveError):
    """The message of a client cannot be taken."""


class UnauthenticatedError(ProtocolViolationError):
    """The client has not shown the token of this server."""

    def __init__(self) -> None:
        where = "in the header `authorization`, or as `auth.token` in the registration"
        super().__init__(f"this server wants its token: {where}")


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
        self.error = error


def call_error(failed: CallFailedError) -> CallError:
    """Return a failed call as the protocol spells it."""
    if isinstance(failed, ResolverError):
        return failed.error
    return CallError(ErrorCode(failed.code), str(failed))


def failure(error: CallError) -> dict[str, Json]:
    """Return the answer of a call that failed."""
    return {"ok": False, "error": error.to_json()}
