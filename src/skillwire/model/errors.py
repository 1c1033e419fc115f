"""What can go wrong, split by whose fault it is.

SkillwireError
├── RequestError        the caller asked for something that does not exist or makes no sense
│   ├── NotServedError      no such skill, file or directory
│   ├── BadCursorError      a cursor that this list never gave out, or that points at something gone
│   └── BadParamsError      parameters of the wrong shape
├── ContentError        what is served is not what was listed
│   ├── IntegrityError      bytes differ from their digest
│   ├── UnsettledError      a skill changed again while it was being read
│   └── RefusedError        a source got something else than it was promised, and keeps it to itself
├── SourceError         a source cannot deliver: unreadable, vanished, unreachable
│   ├── CannotLookNowError  nothing is known of it, because this machine is out of something
│   ├── AwayError           whoever has it does not answer, now
│   └── NotThereError       there is no such source, now
├── InvalidValueError   a value that breaks a rule, found where it is made
├── ConflictError       two parts that cannot work together
├── UnreadError         a client went away without reading its answers
├── StateError          what is remembered on this machine cannot be used
├── PlatformError       this operating system does not have what is needed
└── UsageError          the operator asked for what cannot be done
"""

from skillwire.model.display import quoted


class SkillwireError(Exception):
    """Anything that Skillwire raises on purpose."""


class RequestError(SkillwireError):
    """A request is wrong. Clients get invalid params (-32602)."""


class NotServedError(RequestError):
    """Nothing is served at this URI."""

    def __init__(self, uri: str, what: str = "resource", hint: str = "") -> None:
        self.uri = uri
        super().__init__(f"no {what} is served at {quoted(uri)}" + (f"; {hint}" if hint else ""))


class BadCursorError(RequestError):
    """The cursor does not continue this list."""

    def __init__(self, cursor: str) -> None:
        super().__init__(f"cursor {quoted(cursor)} does not continue this list; list again without a cursor")


class BadParamsError(RequestError):
    """The parameters do not have the shape that the method takes."""


class ContentError(SkillwireError):
    """Content differs from what was listed. Clients get an internal error (-32603)."""


class IntegrityError(ContentError):
    """Bytes do not have the listed digest."""

    def __init__(self, uri: str, *, expected: object, found: object) -> None:
        self.uri = uri
        super().__init__(f"{quoted(uri)} was listed as {expected} but its bytes are {found}")


class UnsettledError(ContentError):
    """A file kept changing while it was read (S19)."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        super().__init__(f"{quoted(uri)} changed while being read, list again")


class RefusedError(ContentError):
    """What somebody else delivered is not what they promised. It says what is wrong."""


class SourceError(SkillwireError):
    """A source cannot deliver its skills."""


class CannotLookNowError(SourceError):
    """What was known before is still the best that is known."""


class AwayError(SourceError):
    """Whoever holds the skills does not answer. They may be asked again in a while."""


class NotThereError(SourceError):
    """There is nothing where the source should be. It may come, or come back."""


class InvalidValueError(SkillwireError, ValueError):
    """A value that breaks a rule."""

    def __init__(self, field: str, value: str, rule: str) -> None:
        self.field, self.value, self.rule = field, value, rule
        super().__init__(f"{field} {quoted(value)} is not {rule}")


class ConflictError(SkillwireError):
    """Two parts claim the same URI, name or server."""


class UnreadError(SkillwireError):
    """A client stopped reading, so that answers were cut off."""

    def __init__(self, length: int) -> None:
        super().__init__(f"the client left {length:,} bytes of answers unread")


class StateError(SkillwireError):
    """The state on this machine cannot be read or written."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)


class PlatformError(SkillwireError):
    """The operating system does not have what is needed. It says what, and where it works."""


class UsageError(SkillwireError):
    """An argument or option is wrong. Commands exit with 2."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)
