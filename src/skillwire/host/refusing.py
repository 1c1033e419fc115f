"""Why a host does not do what it was asked for. Each says of which server or folder it speaks.

HostError
├── NotApprovedError    a person said no, or there was nobody to ask
│   └── ChangedError        it was approved, and is another since
├── VerificationError   what came is not what was listed
└── UnavailableError    the server did not answer, or refused
    └── LoginRequiredError  it requires a login
"""

from collections.abc import Generator
from contextlib import contextmanager

from mcp.shared.exceptions import MCPError

from skillwire.host.hosted import HostedSkill
from skillwire.host.reaching.client import refusal
from skillwire.host.reaching.errors import WantsLoginError
from skillwire.model.display import quoted, visible
from skillwire.model.errors import SkillwireError
from skillwire.wire.findings import Finding, FindingError

_TOLD, _LONGEST = 3, 400
"""Findings that a message names, and characters of each: the words in them are those of a server."""


class HostError(SkillwireError):
    """A host cannot do what it was asked for, because of one server or skill."""

    def __init__(self, origin: str, message: str) -> None:
        self.origin, self.told = origin, message
        super().__init__(f"{origin}: {message}")


class NotApprovedError(HostError):
    """The skill or the action is not approved (H30)."""


class ChangedError(NotApprovedError):
    """The skill changed after it was approved (H15)."""

    def __init__(self, skill: HostedSkill, what: str) -> None:
        told = f"the skill {skill.quoted} has changed and needs to be approved again: {what}"
        super().__init__(skill.origin, told)


class VerificationError(HostError):
    """A server sent something else than it listed. Nothing of it is used (H13, H14, H15)."""

    def __init__(self, origin: str, *findings: Finding) -> None:
        self.findings = findings
        told = [visible(str(each), _LONGEST) for each in findings[:_TOLD]]  # for the model to read, too
        more = len(findings) - _TOLD
        super().__init__(origin, "; ".join(told) + (f"; and {more:,} more" if more > 0 else ""))


class UnavailableError(HostError):
    """A server did not answer, or refused."""


class LoginRequiredError(UnavailableError):
    """The server requires a login, or one with more scopes. The message names the command."""

    def __init__(self, origin: str, message: str, scope: str = "") -> None:
        self.scope = scope
        """The scopes that the server asks for, if it names any."""
        super().__init__(origin, message)


@contextmanager
def told_of(origin: str, uri: str) -> Generator[None]:
    """Turn whatever a place raises into what a host raises: the SDK stumbles in many ways over nonsense."""
    try:
        yield
    except HostError:
        raise
    except FindingError as error:
        raise VerificationError(origin, error.finding) from error
    except MCPError as error:
        raise UnavailableError(origin, str(refusal(uri, error))) from error
    except WantsLoginError as error:
        raise LoginRequiredError(origin, str(error), error.scope) from error
    except SkillwireError as error:
        raise UnavailableError(origin, str(error)) from error
    except TimeoutError:
        raise
    except Exception as error:
        told = f"its answer could not be used: {quoted(str(error) or type(error).__name__)}"
        raise UnavailableError(origin, told) from error
