"""Problems with what a server sent, and a bounded collection of them."""

from dataclasses import dataclass, field

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import VerificationError

MAX_FINDINGS = 1000
"""How many problems of one server are stored. All are counted."""
_HARMLESS = frozenset({Rule.OLD_DRAFT, Rule.ENTRY_NONCONFORMING})
"""Rules that a skill may break and still be used."""


def server_problem(uri: str, rule: Rule, message: str) -> Problem:
    """Return a problem with something that a server sent.

    `uri` is the skill, file, prompt or method that it is about, as the server wrote it.
    """
    return Problem(uri, rule, Severity.WARNING if rule in _HARMLESS else Severity.ERROR, message)


@dataclass(slots=True)
class Findings:
    """A bounded list of problems: the first ones, the number of others, and all rules among them."""

    kept: list[Problem] = field(default_factory=list[Problem])
    more: int = 0
    rules: set[Rule] = field(default_factory=set[Rule])

    def add(self, *found: Problem) -> None:
        for problem in found:
            self.rules.add(problem.rule)
            if len(self.kept) < MAX_FINDINGS:
                self.kept.append(problem)
            else:
                self.more += 1

    def take(self, others: "Findings") -> None:
        """Add the problems of another collection, including the count of those that it did not store."""
        self.add(*others.kept)
        self.more += others.more
        self.rules |= others.rules

    def raise_first(self) -> None:
        """Raise `VerificationError` if there is a problem."""
        if self.kept:
            raise VerificationError("", self.kept[0])
