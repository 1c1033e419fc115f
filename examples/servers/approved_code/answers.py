"""What the two tools answer, in the words of the skill's schema."""

from typing import Any, NotRequired

from typing_extensions import TypedDict  # the one of `typing` is not enough for schemas before Python 3.12

from approved_code.desk import Verdict
from approved_code.evaluate import Outcome
from approved_code.faults import Violation
from approved_code.judge import Risk


class ViolationAnswer(TypedDict):
    rule: str
    message: str
    suggestion: NotRequired[str]


class VerdictAnswer(TypedDict):
    valid: bool
    explanation: str
    risk_level: Risk
    approval_token: NotRequired[str]
    violations: list[ViolationAnswer]


class OutcomeAnswer(TypedDict):
    result: Any
    steps: int


def verdict_answer(verdict: Verdict) -> VerdictAnswer:
    answer = VerdictAnswer(
        valid=verdict.valid,
        explanation=verdict.explanation,
        risk_level=verdict.risk,
        violations=[_violation(each) for each in verdict.violations],
    )
    if verdict.token is not None:
        answer["approval_token"] = verdict.token
    return answer


def outcome_answer(outcome: Outcome) -> OutcomeAnswer:
    return OutcomeAnswer(result=outcome.result, steps=outcome.steps)


def _violation(violation: Violation) -> ViolationAnswer:
    answer = ViolationAnswer(rule=violation.rule, message=violation.message)
    if violation.suggestion:
        answer["suggestion"] = violation.suggestion
    return answer
