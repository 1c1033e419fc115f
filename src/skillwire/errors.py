"""Every exception that a caller may have to handle.

SkillwireError                  anything that Skillwire raises on purpose
├── RequestError                a request makes no sense
│   ├── NotServedError              no skill, file or directory is served at a URI
│   └── BadParamsError              parameters have the wrong shape, or a cursor continues no list
├── ContentError                content is not what was listed
│   ├── IntegrityError              bytes do not have the listed digest
│   └── UnsettledError              a file changed while it was read
├── SourceError                 a source cannot deliver its skills
├── InvalidValueError           a value breaks a rule (also a `ValueError`)
├── ConflictError               two parts claim the same URI, name or server
├── ContractError               frontmatter breaks the contract: a group of `FieldError`s
├── FieldError                  one field breaks the contract (also a `ValueError`)
├── HostError                   a host cannot do what it was asked for
│   ├── NotApprovedError            a skill is not approved
│   │   └── ChangedError                it changed after it was approved
│   ├── VerificationError           what a server sent breaks a rule, or is not what it listed
│   └── UnavailableError            a server did not answer, or refused
│       └── LoginRequiredError          it requires a login
├── LoginError                  a login failed
├── DriveError                  something about live skills
│   └── CallFailedError             a call to a running program failed
├── StateError                  the state on this machine cannot be read or written
│   └── KeyringStateError           the system keyring cannot be read or written
├── PlatformError               this operating system is not supported
└── UsageError                  an option or argument is wrong
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
"""Problems that a message names, and characters of each: the words in them are those of a server."""


def __dir__() -> list[str]:
    return sorted(__all__)


class SkillwireError(Exception):
    """Anything that Skillwire raises on purpose."""

    hint: str = ""
    """What to do about it, where the message does not say so."""

    def __init__(self, message: str = "", hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)
        if hint:
            self.add_note(f"hint: {hint}")  # for those who read the traceback


class RequestError(SkillwireError):
    """A request is wrong. Clients get invalid params (-32602)."""


class NotServedError(RequestError):
    """Nothing is served at this URI."""

    def __init__(self, uri: str, what: str = "resource", hint: str = "") -> None:
        self.uri = uri
        super().__init__(f"no {what} is served at {quoted(uri)}" + (f"; {hint}" if hint else ""))


class BadParamsError(RequestError):
    """The parameters do not have the shape that the method takes, or a cursor does not continue the list."""


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


class UntrustedContentError(ContentError):
    """What somebody else delivered is not what they promised. It says what is wrong."""


class SourceError(SkillwireError):
    """A source cannot deliver its skills."""


class SourceBusyError(SourceError):
    """What was known before is still the best that is known."""


class SourceUnavailableError(SourceError):
    """Whoever holds the skills does not answer. They may be asked again in a while."""


class SourceMissingError(SourceError):
    """There is nothing where the source should be. It may come, or come back."""


class InvalidValueError(SkillwireError, ValueError):
    """A value that breaks a rule: which value, which rule, and where it helps, what to write instead."""

    def __init__(self, field: str, value: str, rule: str, fix: str = "") -> None:
        """`rule` is what the value should be. With a `fix`, it is what the value does wrong."""
        self.field, self.value, self.rule, self.fix = field, value, rule, fix
        super().__init__(f"{field} {quoted(value)} " + (f"{rule}; {fix}" if fix else f"is not {rule}"))


class ConflictError(SkillwireError):
    """Two parts claim the same URI, name or server."""


class UnreadError(SkillwireError):
    """A client stopped reading, so that answers were cut off."""

    def __init__(self, length: int) -> None:
        super().__init__(f"the client left {length:,} bytes of answers unread")


class StateError(SkillwireError):
    """The state on this machine cannot be read or written."""


class PlatformError(SkillwireError):
    """The operating system does not have what is needed. It says what, and where it works."""


class UsageError(SkillwireError):
    """An argument or option is wrong. Commands exit with 2."""


class FieldError(SkillwireError, ValueError):
    """One field that breaks the contract."""

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
        """`problems` are errors, at least one."""

    @property
    def problems(self) -> "tuple[Problem, ...]":
        return tuple(error.problem for error in cast("Sequence[FieldError]", self.exceptions))

    def derive(self, excs: Sequence[FieldError], /) -> "ContractError":  # pyright: ignore[reportIncompatibleMethodOverride]
        return ContractError([error.problem for error in excs])


class HostError(SkillwireError):
    """A host cannot do what it was asked for, because of one server or skill."""

    def __init__(self, origin: str, message: str) -> None:
        """`origin` names the server in messages; empty until a host adds it."""
        self.origin, self.message = origin, message
        super().__init__(f"{origin}: {message}" if origin else message)


class NotApprovedError(HostError):
    """The skill or the action is not approved (H30)."""


class ChangedError(NotApprovedError):
    """The skill changed after it was approved (H15)."""

    def __init__(self, skill: "HostedSkill", what: str) -> None:
        told = f"the skill {skill.quoted} has changed and needs to be approved again: {what}"
        super().__init__(skill.origin, told)


class VerificationError(HostError):
    """What a server sent breaks a rule, or is not what it listed. Nothing of it is used (H13, H14, H15)."""

    def __init__(self, origin: str, *problems: "Problem") -> None:
        self.problems = problems
        told = [
            escape_invisible(str(each), _MAX_PROBLEM_LENGTH) for each in problems[:_SHOWN_PROBLEMS]
        ]  # for the model to read, too
        more = len(problems) - _SHOWN_PROBLEMS
        super().__init__(origin, "; ".join(told) + (f"; and {more:,} more" if more > 0 else ""))


class UnavailableError(HostError):
    """A server did not answer, or refused."""


class LoginRequiredError(UnavailableError):
    """The server requires a login, or one with more scopes. The message names the command."""

    def __init__(self, origin: str, message: str, scope: str = "") -> None:
        self.scope = scope
        """The scopes that the server asks for, if it names any."""
        super().__init__(origin, message)


class LoginError(SkillwireError):
    """A login failed. Nothing of it is stored."""

    def __init__(self, label: str, message: str, hint: str = "") -> None:
        self.label = label
        super().__init__(f"cannot log in to {quoted(label)}: {message}", hint)


class KeyringStateError(StateError):
    """The system keyring fails, or is not available here."""


class DriveError(SkillwireError):
    """Anything about live skills."""


class CallFailedError(DriveError):
    """A call to a running program failed."""

    code: ClassVar[str] = "transport_error"
    """The code that readers and other programs get."""
