"""That a skill is not there, as every verb that looks for one says it."""

from collections.abc import Sequence

from skillwire.model.errors import SkillwireError
from skillwire.model.problem import Problem


class NoSuchSkillError(SkillwireError):
    """There is no such skill; perhaps because it is broken."""

    def __init__(self, message: str, *, hint: str = "", problems: Sequence[Problem] = ()) -> None:
        self.hint, self.problems = hint, tuple(problems)
        super().__init__(message)
