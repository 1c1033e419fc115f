"""Every exception that a caller may have to handle.

SkillwireError                  anything that Skillwire raises on purpose
├── RequestError                a request makes no sense
│   ├── NotServedError              no skill, file or directory is served at a URI
│   ├── BadCursorError              a cursor does not continue a list
│   └── BadParamsError              parameters have the wrong shape
├── ContentError                content is not what was listed
│   ├── IntegrityError              bytes do not have the listed digest
│   └── UnsettledError              a file changed while it was read
├── SourceError                 a source cannot deliver its skills
├── InvalidValueError           a value breaks a rule (also a `ValueError`)
├── AuthoringError              a skill in code breaks a rule (also a `ValueError`)
├── ConflictError               two parts claim the same URI, name or server
├── ContractError               frontmatter breaks the contract (also an `ExceptionGroup`)
├── HostError                   a host cannot do what it was asked for
│   ├── NotApprovedError            a skill is not approved
│   │   └── ChangedError                it changed after it was approved
│   ├── VerificationError           a server sent something else than it listed
│   └── UnavailableError            a server did not answer, or refused
│       └── LoginRequiredError          it requires a login
├── FindingError                a server's answer breaks a rule
├── LoginError                  a login failed
├── DriveError                  something about live skills
│   └── CallFailedError             a call to a running program failed
├── StateError                  the state on this machine cannot be read or written
│   └── KeyringStateError           the system keyring cannot be read or written
├── PlatformError               this operating system is not supported
├── UnreadError                 a client left answers unread
└── UsageError                  an option or argument is wrong
"""

from typing import TYPE_CHECKING

from skillwire.lazy import exports

if TYPE_CHECKING:
    from skillwire.authoring.rules import AuthoringError
    from skillwire.contract.frontmatter import ContractError
    from skillwire.drive.errors import CallFailedError, DriveError
    from skillwire.host.login.record import LoginError
    from skillwire.host.login.store import KeyringStateError
    from skillwire.host.refusing import (
        ChangedError,
        HostError,
        LoginRequiredError,
        NotApprovedError,
        UnavailableError,
        VerificationError,
    )
    from skillwire.model.errors import (
        BadCursorError,
        BadParamsError,
        ConflictError,
        ContentError,
        IntegrityError,
        InvalidValueError,
        NotServedError,
        PlatformError,
        RequestError,
        SkillwireError,
        SourceError,
        StateError,
        UnreadError,
        UnsettledError,
        UsageError,
    )
    from skillwire.wire.findings import FindingError

__all__ = [
    "AuthoringError",
    "BadCursorError",
    "BadParamsError",
    "CallFailedError",
    "ChangedError",
    "ConflictError",
    "ContentError",
    "ContractError",
    "DriveError",
    "FindingError",
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
    "UnreadError",
    "UnsettledError",
    "UsageError",
    "VerificationError",
]

if not TYPE_CHECKING:  # a type checker knows the names above, and no others
    __getattr__, __dir__ = exports(
        __name__,
        {
            **dict.fromkeys(__all__, "skillwire.model.errors"),
            "AuthoringError": "skillwire.authoring.rules",
            "CallFailedError": "skillwire.drive.errors",
            "ChangedError": "skillwire.host.refusing",
            "ContractError": "skillwire.contract.frontmatter",
            "DriveError": "skillwire.drive.errors",
            "FindingError": "skillwire.wire.findings",
            "HostError": "skillwire.host.refusing",
            "KeyringStateError": "skillwire.host.login.store",
            "LoginError": "skillwire.host.login.record",
            "LoginRequiredError": "skillwire.host.refusing",
            "NotApprovedError": "skillwire.host.refusing",
            "UnavailableError": "skillwire.host.refusing",
            "VerificationError": "skillwire.host.refusing",
        },
    )
