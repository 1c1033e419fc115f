"""Plain messages, without the slow import for colours, and the error for a skill that cannot be found."""

import sys
from collections.abc import Sequence

from skillwire.core.problem import Problem
from skillwire.errors import SkillwireError

NO_SKILLS = "no skills here; a skill is a folder with a `SKILL.md` in it"


def print_notice(text: str) -> None:
    """Print a line on stderr."""
    sys.stderr.write(f"{text}\n")


def print_text(text: str) -> None:
    """Print a text unchanged on stdout, as UTF-8."""
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun, such as `1 skill` or `2 skills`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


class NoSuchSkillError(SkillwireError):
    """A skill does not exist, or cannot be served because of `problems`."""

    def __init__(self, message: str, *, hint: str = "", problems: Sequence[Problem] = ()) -> None:
        self.problems = tuple(problems)
        super().__init__(message, hint)
