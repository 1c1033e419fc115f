"""Who may start a skill: the model, a person, or both."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from skillwire.core.problem import Severity
from skillwire.core.record import Json, SkillRecord, Trust
from skillwire.core.template import SkillTemplate
from skillwire.safe_text import escape_invisible

WITHHELD_RULE = "not-approved"
"""The rule id of a withheld skill in reports."""
DISABLE_MODEL_INVOCATION = "disable-model-invocation"
USER_INVOCABLE = "user-invocable"


@dataclass(frozen=True, slots=True)
class Visibility:
    """Who is offered a skill. Resources and the extension always serve it."""

    assistant: bool = True
    user: bool = True

    def allows(self, *, assistant: bool) -> bool:
        """Return whether the skill is offered to the model or, with `assistant=False`, to people."""
        return self.assistant if assistant else self.user


_NO_ONE = Visibility(assistant=False, user=False)


@dataclass(frozen=True, slots=True)
class Override:
    """The operator's decision about one skill. If a value is None, the frontmatter decides."""

    assistant: bool | None = None
    user: bool | None = None


@dataclass(frozen=True, slots=True)
class VisibilityPolicy:
    """Decides who may start a skill: by the operator's override if it has a value, else by the frontmatter.

    In the frontmatter, only booleans count.
    """

    overrides: Mapping[str, Override] = field(default_factory=dict[str, Override])
    """Overrides by skill URI."""
    by_path: bool = False
    """Whether skills are always called by their paths, which show their source, and never by a bare name."""

    def of(self, entry: SkillRecord) -> Visibility:
        return _NO_ONE if self.withholds(entry) else self._decide(entry.uri, entry.frontmatter)

    def allows(self, entry: SkillRecord, *, assistant: bool) -> bool:
        """Return whether a skill is offered to the model or, with `assistant=False`, to people."""
        if entry.trust is Trust.WITHHELD:
            return False
        if self.overrides and entry.uri in self.overrides:
            return self._decide(entry.uri, entry.frontmatter).allows(assistant=assistant)
        if assistant:
            return entry.frontmatter.get(DISABLE_MODEL_INVOCATION) is not True
        return entry.frontmatter.get(USER_INVOCABLE) is not False

    def of_template(self, template: SkillTemplate) -> Visibility:
        return _NO_ONE if template.is_withheld else self._decide(template.uri, template.fields)

    def _decide(self, uri: str, frontmatter: Mapping[str, Json]) -> Visibility:
        override = self.overrides.get(uri, Override())
        assistant = frontmatter.get(DISABLE_MODEL_INVOCATION) is not True
        user = frontmatter.get(USER_INVOCABLE) is not False
        return Visibility(
            assistant if override.assistant is None else override.assistant,
            user if override.user is None else override.user,
        )

    def withholds(self, entry: SkillRecord) -> bool:
        """Return whether a skill is hidden from models and people, because it is not approved."""
        return entry.trust is Trust.WITHHELD


def withheld_report(entry: SkillRecord, path: str) -> dict[str, str | int | None]:
    """Return a report about a withheld skill, with the keys of a problem. `path` is the path to report."""
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
