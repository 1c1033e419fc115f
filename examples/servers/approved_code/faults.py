"""What is wrong with code, in words that its author can act on."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that code breaks, where it does, and what would pass."""

    rule: str
    message: str
    suggestion: str = ""

    def __str__(self) -> str:
        return f"{self.message}; {self.suggestion}" if self.suggestion else self.message


class CodeError(Exception):
    """Code that may not run, or that stopped while it ran. Nothing else is ever raised because of code."""

    def __init__(self, *violations: Violation) -> None:
        self.violations = violations
        super().__init__("\n".join(f"{each.rule}: {each}" for each in violations))


def fault(rule: str, message: str, suggestion: str = "") -> CodeError:
    """Return the error for one broken rule."""
    return CodeError(Violation(rule, message, suggestion))
