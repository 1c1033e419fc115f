"""Exceptions of live skills, and their conversion to errors of the protocol.

`DriveError` and `CallFailedError` are in `skillwire.errors`.

    DriveError
    ├── FullError                   a limit on clients or registrations is reached; try again later
    ├── HookFailedError             a hook raised an unexpected exception; try again later
    ├── ProtocolViolationError      a client sent a message that is not allowed; its session ends
    │   └── UnauthenticatedError        the client has not sent the server's token
    └── CallFailedError             a call failed
        ├── NoSuchPathError             the client or the path does not exist
        ├── UnsendableError             the request cannot be sent to a client
        ├── DeniedError                 a hook denied the request
        ├── TimedOutError               the client did not answer in time
        ├── GoneError                   the client disconnected or unregistered before it answered
        ├── BusyError                   the client has too many unanswered calls or queued messages
        └── ResolverError               the client returned an error
"""

from skillwire.core.record import Json
from skillwire.drive.messages import CallError, ErrorCode
from skillwire.errors import CallFailedError, DriveError
from skillwire.safe_text import quoted


class FullError(DriveError):
    """A limit on clients or registrations is reached, or the server is shutting down."""


class HookFailedError(DriveError):
    """A hook raised an unexpected exception. The exception is logged. Its text is not sent to the program."""

    def __init__(self) -> None:
        super().__init__("the server refused the registration, because its own check failed; see its log")


class ProtocolViolationError(DriveError):
    """A client sent a message that is not allowed. Its session ends."""


class UnauthenticatedError(ProtocolViolationError):
    """The client has not sent the server's token."""

    def __init__(self) -> None:
        where = "in the header `authorization`, or as `auth.token` in the registration"
        super().__init__(f"this server requires its token: {where}")


class NoSuchPathError(CallFailedError):
    """The client or the path does not exist."""

    code = ErrorCode.NOT_FOUND


class UnsendableError(CallFailedError):
    """The request cannot be sent to a client."""

    code = ErrorCode.BAD_REQUEST


class DeniedError(CallFailedError):
    """Raised by hooks to deny a registration or call. The sender of the request gets its message."""

    code = ErrorCode.BAD_REQUEST


class TimedOutError(CallFailedError):
    """The client did not answer in time."""

    code = ErrorCode.TIMEOUT

    def __init__(self, client_id: str, seconds: float) -> None:
        super().__init__(f"the program {quoted(client_id)} did not answer within {seconds:g} s")


class GoneError(CallFailedError):
    """The client disconnected or unregistered before it answered."""

    def __init__(self, client_id: str) -> None:
        super().__init__(f"the program {quoted(client_id)} disconnected before it answered")


class BusyError(CallFailedError):
    """The client has too many unanswered calls or queued messages."""

    code = ErrorCode.NOT_READY

    def __init__(self, client_id: str) -> None:
        super().__init__(f"the program {quoted(client_id)} has not answered earlier calls; try again later")


class ResolverError(CallFailedError):
    """The client answered with an error. This exception has the same message, and the error as `error`."""

    def __init__(self, error: CallError) -> None:
        super().__init__(error.message)
        self.error = error


def call_error(failed: CallFailedError) -> CallError:
    """Convert a failed call to an error of the protocol."""
    if isinstance(failed, ResolverError):
        return failed.error
    return CallError(ErrorCode(failed.code), str(failed))


def failure(error: CallError) -> dict[str, Json]:
    """Return the JSON object that reports a failed call."""
    return {"ok": False, "error": error.to_json()}
