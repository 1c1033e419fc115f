"""Why a server cannot be asked."""

from skillwire.model.errors import SkillwireError


class UnreachableError(SkillwireError):
    """No server answered."""


class WantsLoginError(UnreachableError):
    """The server answers, and demands a login first. The message says with which command."""

    def __init__(self, message: str, scope: str = "") -> None:
        self.scope = scope
        """What the login must be good for, if the server says so."""
        super().__init__(message)
