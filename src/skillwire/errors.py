"""Every exception that a caller may have to handle, and a few that are private to Skillwire.

The tree shows the public exceptions:

SkillwireError                  anything that Skillwire raises on purpose
├── RequestError                a request is invalid
│   ├── NotServedError              no skill, file or directory is served at a URI
│   └── BadParamsError              parameters are invalid, or a name in them is unknown
├── ContentError                content differs from what was listed
│   ├── IntegrityError              bytes do not have the listed digest
│   └── UnsettledError              a file or skill kept changing while it was read
├── SourceError                 a source cannot list its skills, or cannot read a file
├── InvalidValueError           a value breaks a rule (also a `ValueError`)
├── ConflictError               a URI, path, name or method is taken, or a server already has skills
├── ContractError               frontmatter breaks the contract: a group of `FieldError`s
├── FieldError                  one field breaks the contract (also a `ValueError`)
├── HostError                   a host cannot do what was requested
│   ├── NotApprovedError            a skill is not approved
│   │   └── ChangedError                the skill changed after it was approved
│   ├── VerificationError           data from a server breaks a rule, or differs from its list
│   └── UnavailableError            a server did not answer, or refused
│       └── LoginRequiredError          the server requires a login
├── LoginError                  a login failed
├── NotFoundError               a function behind a live skill has nothing for the request
├── DriveError                  an operation on live skills failed
│   └── CallFailedError             a call to a running program failed
├── StateError                  the stored state cannot be read or written
│   └── KeyringStateError           the system keyring cannot be read or written
├── PlatformError               the operating system lacks a required feature
└── UsageError                  an argument, option or setting is wrong
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Self, cast

from skillwire.safe_text import escape_invisible, quoted

if TYPE_CHECKING:
    from skillwire.core.problem import Problem
    from skillwire.host.hosted_skill import HostedSkill

__all__ = [
    "BadParamsError",
    "CallFailedError",
    "ChangedError",
    "ConflictError",
    "ContentError",
    "ContractError",
    "DriveError",
    "FieldError",
    "HostError",
    "IntegrityError",
    "InvalidValueError",
    "KeyringStateError",
    "LoginError",
    "LoginRequiredError",
    "NotApprovedError",
    "NotFoundError",
    "NotServedError",
    "PlatformError",
    "RequestError",
    "SkillwireError",
    "SourceError",
    "StateError",
    "UnavailableError",
    "UnsettledError",
    "UsageError",
    "VerificationError",
]
_SHOWN_PROBLEMS, _MAX_PROBLEM_LENGTH = 3, 400
"""Maximum number of problems in a message, and of characters of each. The text may come from a server."""


def __dir__() -> list[str]:
    return sorted(__all__)


class SkillwireError(Exception):
    """Anything that Skillwire raises on purpose."""

    hint: str = ""
    """How to fix the error, if the message does not say."""

    def __init__(self, message: str = "", hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)
        if hint:
            self.add_note(f"hint: {hint}")  # shown in tracebacks


class RequestError(SkillwireError):
    """A request is invalid. Clients get "invalid params" (-32602)."""


class NotServedError(RequestError):
    """Nothing is served at this URI."""

    def __init__(self, uri: str, what: str = "resource", hint: str = "") -> None:
        self.uri = uri
        super().__init__(f"no {what} is served at {quoted(uri)}" + (f"; {hint}" if hint else ""))


class BadParamsError(RequestError):
    """The parameters of a request are invalid, or name a prompt, tool or server that does not exist."""


class ContentError(SkillwireError):
    """Content differs from what was listed. Clients get "internal error" (-32603)."""


class IntegrityError(ContentError):
    """Bytes do not have the listed digest."""

    def __init__(self, uri: str, *, expected: object, found: object) -> None:
        self.uri = uri
        super().__init__(f"{quoted(uri)} was listed as {expected} but its bytes are {found}")


class UnsettledError(ContentError):
    """A file or skill kept changing while it was read (S19)."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        super().__init__(f"{quoted(uri)} changed while it was read; list the skills again")


class UntrustedContentError(ContentError):
    """Fetched content differs from what its source listed."""


class SourceError(SkillwireError):
    """A source cannot list its skills, or cannot read a file."""


class SourceBusyError(SourceError):
    """The process lacks file descriptors or memory to read a source. The previous scan stays in use."""


class SourceUnavailableError(SourceError):
    """The server with the skills does not answer. A later attempt may succeed."""


class SourceMissingError(SourceError):
    """The source does not exist. It may appear later."""


class InvalidValueError(SkillwireError, ValueError):
    """A value breaks a rule. The message gives the value, the rule and, if there is one, the fix."""

    def __init__(self, field: str, value: str, rule: str, fix: str = "") -> None:
        """Build the message.

        `rule` completes "is not …". With a `fix`, `rule` is the whole predicate instead.
        """
        self.field, self.value, self.rule, self.fix = field, value, rule, fix
        super().__init__(f"{field} {quoted(value)} " + (f"{rule}; {fix}" if fix else f"is not {rule}"))


class ConflictError(SkillwireError):
    """A URI, path, name or method is taken, or a server already has skills or is already built."""


class UnreadError(SkillwireError):
    """A client stopped reading, so its responses were discarded."""

    def __init__(self, length: int) -> None:
        super().__init__(f"the client left {length:,} bytes of responses unread")


class StateError(SkillwireError):
    """The stored state cannot be read or written."""


class PlatformError(SkillwireError):
    """The operating system lacks a required feature.

    The message names the feature and the supported systems.
    """


class UsageError(SkillwireError):
    """An argument, option, environment variable or configuration file is wrong. Commands exit with 2."""


class FieldError(SkillwireError, ValueError):
    """One field breaks the contract."""

    def __init__(self, problem: "Problem") -> None:
        self.problem = problem
        self.field, self.rule = problem.field, problem.rule
        super().__init__(f"{problem.field}: {problem.message}; {problem.hint}")


class ContractError(ExceptionGroup[FieldError], SkillwireError):
    """A group with one error for each way in which a frontmatter breaks the contract."""

    def __new__(cls, problems: "Iterable[Problem]") -> Self:
        errors = [FieldError(problem) for problem in problems]
        return super().__new__(cls, "the frontmatter breaks the contract", errors)

    def __init__(self, problems: "Iterable[Problem]") -> None:
        """Create a group with one `FieldError` for each problem. There must be at least one problem."""

    @property
    def problems(self) -> "tuple[Problem, ...]":
        return tuple(error.problem for error in cast("Sequence[FieldError]", self.exceptions))

    def derive(self, excs: Sequence[FieldError], /) -> "ContractError":  # pyright: ignore[reportIncompatibleMethodOverride]
        return ContractError([error.problem for error in excs])


class HostError(SkillwireError):
    """A host cannot do what was requested, because of one server or skill."""

    def __init__(self, origin: str, message: str) -> None:
        """Create an error. `origin` is the server's name in the message.

        `origin` may be empty until a host adds it.
        """
        self.origin, self.message = origin, message
        super().__init__(f"{origin}: {message}" if origin else message)


class NotApprovedError(HostError):
    """The skill or the action is not approved (H30)."""


class ChangedError(NotApprovedError):
    """The skill changed after it was approved (H15)."""

    def __init__(self, skill: "HostedSkill", what: str) -> None:
        message = f"the skill {skill.quoted} has changed and needs to be approved again: {what}"
        super().__init__(skill.origin, message)


class VerificationError(HostError):
    """Data from a server breaks a rule, or differs from the server's list.

    None of the data is used (H13, H14, H15).
    """

    def __init__(self, origin: str, *problems: "Problem") -> None:
        self.problems = problems
        shown = [
            escape_invisible(str(each), _MAX_PROBLEM_LENGTH) for each in problems[:_SHOWN_PROBLEMS]
        ]  # models also read the message
        more = len(problems) - _SHOWN_PROBLEMS
        super().__init__(origin, "; ".join(shown) + (f"; and {more:,} more" if more > 0 else ""))


class UnavailableError(HostError):
    """A server did not answer, or refused the request."""


class LoginRequiredError(UnavailableError):
    """The server requires a login, or a login with more scopes. The message names the command to run."""

    def __init__(self, origin: str, message: str, scope: str = "") -> None:
        self.scope = scope
        """The scopes that the server requires, if it names any."""
        super().__init__(origin, message)


class LoginError(SkillwireError):
    """A login failed. Nothing was stored."""

    def __init__(self, label: str, message: str, hint: str = "") -> None:
        self.label = label
        super().__init__(f"cannot log in to {quoted(label)}: {message}", hint)


class KeyringStateError(StateError):
    """The system keyring failed or is not available."""


class NotFoundError(SkillwireError):
    """Raised by your function behind a live skill: there is nothing for this request.

    Readers get its message.
    """


class DriveError(SkillwireError):
    """An operation on live skills failed."""


class CallFailedError(DriveError):
    """A call to a running program failed."""

    code: ClassVar[str] = "transport_error"
    """The error code that readers and other programs get."""
