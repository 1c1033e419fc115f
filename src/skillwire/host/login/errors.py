"""Why a login does not work, or why one is needed."""

from skillwire.model.display import quoted
from skillwire.model.errors import SkillwireError


class LoginError(SkillwireError):
    """A login that did not come about. Nothing of it is kept."""

    def __init__(self, label: str, message: str, hint: str = "") -> None:
        self.label, self.hint = label, hint
        super().__init__(f"cannot log in to {quoted(label)}: {message}")


class OverError(Exception):
    """The login server says that a login is over."""


class UnansweredError(Exception):
    """The login server did not answer, or not with anything that can be used. It may, later."""
