"""The rules that `skillwire check` reports, and their severities: `--select`, `--ignore` and `--severity`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import cast

from skillwire.config.file import ConfigFile
from skillwire.core.names import find_close_matches
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import UsageError
from skillwire.safe_text import quoted

ALL = "all"
"""The selector that matches every rule."""
ALWAYS_REPORTED = frozenset({Rule.SOURCE_FAILED})
"""Rules that cannot be turned off, because a source that was not checked must not look like a good one."""

_OFF = "off"
_SEVERITIES = {**{each.value: each for each in Severity}, _OFF: None}
_SECTION, _BASELINE = "check", "baseline"


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """The rules to report. A selector is a rule id, its first words, such as `contract`, or `all`.

    If several selectors match a rule, the one with the most words decides. If a rule is both selected and
    ignored by selectors with the same number of words, it is ignored.
    """

    select: tuple[str, ...] = (ALL,)
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity | None] = field(default_factory=dict[str, Severity | None])
    """The severity by selector. None means that the rule is not reported."""

    def changed(
        self,
        *,
        select: Iterable[str] | None = None,
        ignore: Iterable[str] | None = None,
        severity: Iterable[str] = (),
    ) -> "RuleSelection":
        """Return a copy with the given options. Severities are added to those that are set already.

        Raises `UsageError` for unknown rules.
        """
        ignored = self.ignore if ignore is None else parse_selectors(ignore, "--ignore")
        for each in ignored:
            _reject_required(each, "--ignore")
        return RuleSelection(
            self.select if select is None else parse_selectors(select, "--select"),
            ignored,
            {**self.severities, **parse_severities(severity)},
        )

    def reports(self, rule: Rule) -> bool:
        """Return whether problems with this rule are reported."""
        if rule in ALWAYS_REPORTED:
            return True
        chosen = _best(rule, self.severities)
        if chosen is not None and self.severities[chosen] is None:
            return False
        selected, ignored = _best(rule, self.select), _best(rule, self.ignore)
        return selected is not None and (ignored is None or _words(selected) > _words(ignored))

    def apply(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return the problems to report, with their severities."""
        return [self._with_severity(problem) for problem in problems if self.reports(problem.rule)]

    def _with_severity(self, problem: Problem) -> Problem:
        chosen = None if problem.rule in ALWAYS_REPORTED else _best(problem.rule, self.severities)
        severity = problem.severity if chosen is None else self.severities[chosen] or problem.severity
        return problem if severity is problem.severity else replace(problem, severity=severity)


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """The table `[check]` in a configuration file."""

    rules: RuleSelection = RuleSelection()
    baseline: str | None = None
    """The path of the baseline file. A relative path in the file starts at the folder of the file."""

    @classmethod
    def read(cls, file: ConfigFile) -> "CheckSettings":
        """Return the settings in the file. Raises `UsageError`."""
        section = file.read().get(_SECTION, {})
        if not isinstance(section, Mapping):
            raise file.broken(f"`{_SECTION}` is not a table")
        values = cast("Mapping[str, object]", section)
        severity = values.get("severity", {})
        if not isinstance(severity, Mapping):
            raise file.broken(f"`{_SECTION}.severity` is not a table")
        pairs = [f"{rule}={value}" for rule, value in cast("Mapping[str, object]", severity).items()]
        baseline = values.get(_BASELINE)
        if baseline is not None and not (isinstance(baseline, str) and baseline):
            raise file.broken(f"`{_SECTION}.{_BASELINE}` is not a path")
        try:
            rules = RuleSelection().changed(
                select=_texts(file, values, "select"),
                ignore=_texts(file, values, "ignore"),
                severity=pairs,
            )
        except UsageError as error:
            raise UsageError(
                f"the configuration file `{file.path}` cannot be used: {error}", hint=error.hint
            ) from error
        folder = file.path.absolute().parent
        return cls(rules, None if baseline is None else str(folder / baseline))


def _texts(file: ConfigFile, values: Mapping[str, object], key: str) -> Sequence[str] | None:
    """Return the list at `key`, or None if it is missing. Raises `UsageError`."""
    value = values.get(key)
    if value is None:
        return None
    items = cast("list[object]", value) if isinstance(value, list) else None
    if items is None or not all(isinstance(each, str) for each in items):
        raise file.broken(f"`{_SECTION}.{key}` is not a list of rules")
    return cast("list[str]", items)


def parse_selectors(values: Iterable[str], option: str) -> tuple[str, ...]:
    """Return the selectors in `values`, which may contain commas. Raises `UsageError` for unknown rules."""
    words = (word.strip() for value in values for word in value.split(","))
    return tuple(dict.fromkeys(_selector(word, option) for word in words if word))


def parse_severities(values: Iterable[str]) -> dict[str, Severity | None]:
    """Return the severity by selector for texts such as `body-length=off`. Raises `UsageError`."""
    found: dict[str, Severity | None] = {}
    for pair in (pair.strip() for value in values for pair in value.split(",")):
        rule, equals, severity = (part.strip() for part in pair.partition("="))
        if not pair:
            continue
        if not equals or severity not in _SEVERITIES:
            choices = ", ".join(f"`{rule or 'body-length'}={each}`" for each in _SEVERITIES)
            raise UsageError(f"`--severity` does not accept {quoted(pair)}", hint=f"write one of {choices}")
        selector = _selector(rule, "--severity")
        _reject_required(selector, "--severity")
        found[selector] = _SEVERITIES[severity]
    return found


def _selector(word: str, option: str) -> str:
    selector = word.lower().removesuffix("*").rstrip("-")
    if selector in _selectors():
        return selector
    near = find_close_matches(selector, _selectors(), 1)
    hint = (
        f"did you mean {quoted(near[0])}?"
        if near
        else "write a rule id from the report, its first words, such as `contract`, or `all`"
    )
    raise UsageError(f"`{option}`: there is no rule {quoted(word)}", hint=hint)


def _reject_required(selector: str, option: str) -> None:
    if selector in ALWAYS_REPORTED:
        raise UsageError(
            f"`{option}`: {quoted(selector)} cannot be turned off, because nothing was checked",
            hint="leave the source out, or repair it",
        )


@cache
def _selectors() -> tuple[str, ...]:
    """Return every selector: `all`, the rules, and their first words."""
    found = dict.fromkeys([ALL, *(rule.value for rule in Rule)])
    for rule in Rule:
        words = rule.value.split("-")
        found.update(dict.fromkeys("-".join(words[:end]) for end in range(1, len(words))))
    return tuple(found)


def _matches(selector: str, rule: Rule) -> bool:
    return selector in {ALL, rule.value} or rule.value.startswith(f"{selector}-")


def _words(selector: str) -> int:
    return 0 if selector == ALL else selector.count("-") + 1


def _best(rule: Rule, selectors: Iterable[str]) -> str | None:
    """Return the matching selector with the most words, or None if none matches."""
    return max((each for each in selectors if _matches(each, rule)), key=_words, default=None)
