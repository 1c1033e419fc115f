"""Problems with data from a server, in a bounded collection."""

from dataclasses import dataclass, field

from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import VerificationError

MAX_FINDINGS = 1000
"""Maximum number of stored problems for one server. Further problems are only counted."""
_HARMLESS = frozenset({Rule.OLD_DRAFT, Rule.ENTRY_NONCONFORMING, Rule.TEMPLATE})
"""Rules whose violation is only a warning, because every skill can still be used."""


def server_problem(uri: str, rule: Rule, message: str) -> Problem:
    """Return a problem with data from a server.

    `uri` is the URI of the skill or file with the problem, or the name of the prompt or method.
    """
    return Problem(uri, rule, Severity.WARNING if rule in _HARMLESS else Severity.ERROR, message)


@dataclass(slots=True)
class Findings:
    """A bounded list of problems: the first ones, the number of further ones, and the rules of all."""

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
        """Add the problems of another collection, including the number of problems that it did not store."""
        self.add(*others.kept)
        self.more += others.more
        self.rules |= others.rules

    def raise_first(self) -> None:
        """Raise `VerificationError` with the first problem, if there is one."""
        if self.kept:
            raise VerificationError("", self.kept[0])
