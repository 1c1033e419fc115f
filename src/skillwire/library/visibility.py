"""Who may start a skill: the model, a person, or both."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillwire.core.problem import Severity
from skillwire.core.record import SkillRecord, Trust
from skillwire.safe_text import escape_invisible

WITHHELD_RULE = "not-approved"
"""The rule id of a withheld skill in reports."""
DISABLE_MODEL_INVOCATION = "disable-model-invocation"
USER_INVOCABLE = "user-invocable"


@dataclass(frozen=True, slots=True)
class Visibility:
    """Who is offered a skill. Resources and the extension serve it in any case."""

    assistant: bool = True
    user: bool = True


@dataclass(frozen=True, slots=True)
class Override:
    """The operator's decision for one skill. None leaves it to the frontmatter."""

    assistant: bool | None = None
    user: bool | None = None


@dataclass(frozen=True, slots=True)
class VisibilityPolicy:
    """Decides by the operator's overrides, else by the frontmatter. Only booleans count there."""

    overrides: Mapping[str, Override] = field(default_factory=dict[str, Override])
    """By the URI of the skill."""
    by_path: bool = False
    """Whether skills are always named by their paths, which show their source, and never by a bare name."""

    def of(self, entry: SkillRecord) -> Visibility:
        if self.withholds(entry):
            return Visibility(assistant=False, user=False)
        override = self.overrides.get(entry.uri, Override())
        assistant = entry.frontmatter.get(DISABLE_MODEL_INVOCATION) is not True
        user = entry.frontmatter.get(USER_INVOCABLE) is not False
        return Visibility(
            assistant if override.assistant is None else override.assistant,
            user if override.user is None else override.user,
        )

    def withholds(self, entry: SkillRecord) -> bool:
        """Return whether a skill is hidden from models and people, because it is not approved."""
        return entry.trust is Trust.WITHHELD


def withheld_report(entry: SkillRecord, path: str) -> dict[str, str | int | None]:
    """Return a withheld skill for people, with the keys of a problem. `path` is its path in the report."""
    assert entry.withheld is not None, "only a withheld skill has a reason"
    return {
        "path": escape_invisible(path),
        "line": None,
        "field": "",
        "rule": WITHHELD_RULE,
        "severity": Severity.WARNING,
        "message": f"hidden from models and people: {entry.withheld.reason}",
        "hint": entry.withheld.hint,
    }
