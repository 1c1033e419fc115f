"""The desk where code is handed in: it judges, hands out an approval, and runs what comes back with one."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from approved_code.approvals import Approvals, Caller
from approved_code.bounds import Bounds
from approved_code.check import check, is_name
from approved_code.dataset import Dataset
from approved_code.evaluate import Outcome, evaluate
from approved_code.faults import CodeError, Violation, fault
from approved_code.grammar import FUNCTIONS
from approved_code.judge import Format, Risk, judge
from approved_code.plain import plain


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `validate_code` says. Without a token nothing runs."""

    explanation: str
    risk: Risk
    token: str | None = None
    violations: tuple[Violation, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.violations


@dataclass(frozen=True, slots=True)
class Desk:
    """Code mode for one table."""

    data: Dataset
    approvals: Approvals
    bounds: Bounds = field(default_factory=Bounds)

    def validate(
        self,
        caller: Caller,
        code: str,
        variables: Mapping[str, Any],
        *,
        form: Format = "text",
        dry_run: bool = False,
    ) -> Verdict:
        """Judge code. It is not run."""
        try:
            judgement = judge(self._checked(code, variables), self.data, variables)
        except CodeError as error:
            # What is not understood could be anything: its risk is never a low one.
            count = len(error.violations)
            explanation = f"This may not run: {count} rule{'s are' if count > 1 else ' is'} broken."
            return Verdict(explanation, "critical", violations=error.violations)
        token = None if dry_run else self.approvals.issue(caller, code, variables, judgement.risk)
        return Verdict(judgement.explanation(form), judgement.risk, token)

    def execute(self, caller: Caller, code: str, variables: Mapping[str, Any], token: str) -> Outcome:
        """Run code that was approved. Raises `RefusedError`; or `CodeError`, with the token used up."""
        self._checked(code, variables)  # and so nothing is hashed that is longer than allowed
        self.approvals.redeem(token, caller, code, variables)
        return evaluate(code, {**variables, self.data.name: list(self.data.records)}, self.bounds)

    def _checked(self, code: str, variables: Mapping[str, Any]) -> ast.expr:
        plain(dict(variables), "`variables`", self.bounds)
        for name in variables:
            if not is_name(name) or name in FUNCTIONS or name == self.data.name:
                raise fault("variable", f"a variable cannot be called `{name}`", "use another plain name")
        return check(code, [self.data.name, *variables], self.bounds)
