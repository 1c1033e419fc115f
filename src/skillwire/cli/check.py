"""`skillwire check`: report every problem in skills and sources."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, cast

import anyio
from cyclopts import Parameter

from skillwire.area import CheckFlags
from skillwire.config.baseline import Baseline, Key
from skillwire.config.choice import ConfigOptions, choose_config
from skillwire.config.report import FORMATS, CheckRequest, CheckResult
from skillwire.config.rule_selection import ALWAYS_REPORTED, CheckSettings, RuleSelection
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import UsageError
from skillwire.library.library import Library
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import NO_SKILLS, pluralize, print_notice
from skillwire.terminal.options import OUTPUT, RULES, FollowLinks, json_of
from skillwire.terminal.output import stderr_console


def check(
    paths: Annotated[
        list[str] | None,
        Parameter(
            name="PATH",
            help="Skill or source to check. Default: `SKILLS_DIR` and the configuration file.",
        ),
    ] = None,
    /,
    *,
    format: Annotated[  # noqa: A002 - the name of the option
        Literal["text", "json", "sarif", "github"],
        Parameter(group=OUTPUT, metavar="FORMAT", help="Output format.", show_default=True),
    ] = "text",
    json: Annotated[
        bool, json_of("[{path, line, field, rule, severity, message, hint}]", same_as="--format json")
    ] = False,
    strict: Annotated[
        bool, Parameter(group=RULES, help="Also fail on warnings, and if no skill is found.")
    ] = False,
    select: Annotated[
        list[str] | None,
        Parameter(
            group=RULES, metavar="RULE", help="Report only these rules: ids, first words of ids, or `all`."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, Parameter(group=RULES, metavar="RULE", help="Do not report these rules.")
    ] = None,
    severity: Annotated[
        list[str] | None,
        Parameter(
            group=RULES, metavar="RULE=LEVEL", help="Set the severity of rules: `error`, `warning` or `off`."
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        Parameter(group=RULES, metavar="FILE", help="Do not report the old problems in this file."),
    ] = None,
    write_baseline: Annotated[
        bool, Parameter(group=RULES, help="Write all current problems to the baseline.")
    ] = False,
    prune: Annotated[
        bool, Parameter(group=RULES, help="Remove problems that no longer occur from the baseline.")
    ] = False,
    follow_links: FollowLinks = False,
    config: ConfigOptions = None,
    areas: Annotated[Mapping[str, object], Parameter(parse=False)] = MappingProxyType({}),
) -> int:
    """Report every problem in your skills: where it is, what is wrong, and how to fix it.

    A skill with an *error* is not served. A skill with only *warnings* is served.
    Only this command warns about dead links in a `SKILL.md`, files that the text does not mention, long
    texts and scripts that are not executable.

    `--select`, `--ignore`, `--severity` and `--baseline` change only the report. A skill with an error is not
    served, even if the error is not reported.

    Exit code 0: no errors are reported. 1: an error is reported. With `--strict`, also 1 if a warning is
    reported, or if no skill is found.

    For example:

    ```
    skillwire check ./skills
    skillwire check ./skills --strict --ignore body-length,script
    skillwire check ./skills --baseline problems.json --write-baseline
    skillwire check ./skills --json | jq '.[].path'
    ```
    """
    choice = choose_config(config, named=bool(paths))
    settings = CheckSettings() if choice.file is None else CheckSettings.read(choice.file)
    rules = settings.rules.changed(select=select, ignore=ignore, severity=severity or ())
    path = baseline or (Path(settings.baseline) if settings.baseline else None)
    old = _OldProblems.read(path, rules, write=write_baseline, prune=prune)
    request = CheckRequest(paths or [], follow_links, choice, old.remove)
    found: CheckResult | None = CheckResult.of(request.load())
    for flags in areas.values():
        if (found := cast("CheckFlags", flags).check(request, found)) is None:
            return 1
    found = old.update(anyio.run(found.with_bodies))
    reported = [rule for rule in Rule if rules.reports(rule) and rule not in ALWAYS_REPORTED]
    if reported and found.complete and not any(map(found.covers, reported)):
        print_notice("the selected rules are checked only with `--contract`")
    kind = "json" if json else format
    FORMATS[kind](found.problems, found.library)
    return _summarise(found, strict=strict)


@dataclass(frozen=True, slots=True)
class _OldProblems:
    """The rules to report, and the baseline with the problems that are not reported again."""

    rules: RuleSelection
    baseline: Baseline | None
    write: bool
    prune: bool

    @classmethod
    def read(cls, path: Path | None, rules: RuleSelection, *, write: bool, prune: bool) -> "_OldProblems":
        """Read the baseline, if there is one. Raises `UsageError`."""
        if write and prune:
            hint = "`--write-baseline` alone also removes problems that no longer occur"
            raise UsageError("`--write-baseline` and `--prune` contradict each other", hint=hint)
        if path is None:
            if write or prune:
                option = "--write-baseline" if write else "--prune"
                raise UsageError(f"`{option}` requires `--baseline`", hint="add `--baseline FILE`")
            return cls(rules, None, write, prune)
        baseline = Baseline(path) if write and not path.exists() else Baseline.read(path)
        return cls(rules, baseline, write, prune)

    def remove(self, problems: Sequence[Problem], library: Library) -> Sequence[Problem]:
        """Return the problems to report, without writing the baseline."""
        selected = self.rules.apply(problems)
        return selected if self.baseline is None or self.write else self.baseline.new(selected, library)

    def update(self, found: CheckResult) -> CheckResult:
        """Return the result with the problems to report. Writes the baseline if that was asked for.

        Raises `UsageError` if the baseline cannot be written.
        """
        selected = self.rules.apply(found.problems)
        if (baseline := self.baseline) is None:
            return replace(found, problems=selected)
        if (self.write or self.prune) and not found.complete:
            option = "--write-baseline" if self.write else "--prune"
            raise UsageError(f"`{option}` requires a check of all skills", hint="leave `--changed-since` out")
        keys = [key for key in baseline.keys(selected, found.library) if key is not None]
        covered = baseline.covered(found, self.rules)
        gone = baseline.gone(keys, covered)
        if self.write:
            baseline = baseline.written(keys, covered)
            baseline.save()
        elif self.prune:
            baseline = baseline.pruned(keys, covered)
            baseline.save()
        new = baseline.new(selected, found.library)
        self._report(len(selected) - len(new), gone)
        return replace(found, problems=new)

    def _report(self, old: int, gone: Sequence[Key]) -> None:
        """Print how many problems the baseline hides, and which of its entries no longer occur."""
        if self.baseline is None:
            return
        name = quoted(escape_invisible(str(self.baseline.file)))
        if self.write:
            print_notice(f"{name}: {pluralize(old, 'problem')} written")
            return
        print_notice(f"{name}: {pluralize(old, 'old problem')} not reported")
        if not gone:
            return
        entries = f"{len(gone)} {'entry' if len(gone) == 1 else 'entries'}"
        if self.prune:
            print_notice(f"{name}: {entries} removed, because the problems no longer occur")
            return
        first = f"{gone[0].path}: {gone[0].field + ': ' if gone[0].field else ''}{gone[0].rule}"
        which = f"{entries} no longer occur{'s' if len(gone) == 1 else ''}, such as {quoted(first)}"
        print_notice(f"{name}: {which}; `--prune` removes old entries")


def _summarise(found: CheckResult, *, strict: bool) -> int:
    """Print a one-line summary and return the exit code."""
    errors = sum(problem.severity is Severity.ERROR for problem in found.problems)
    warnings = len(found.problems) - errors
    counts = f"{pluralize(errors, 'error')}, {pluralize(warnings, 'warning')}"
    since = "" if found.since is None else f"since {quoted(escape_invisible(found.since))}"
    if found.unchanged and not found.selected:
        good = f"no skill has changed {since}"
        stderr_console().print(f"{good}; {counts}" if found.problems else good)
        return 1 if errors or (strict and warnings) else 0
    good = f"{pluralize(found.good, 'skill')} {found.verdict[found.good != 1]}"
    if found.complete and (hidden := len(found.library.catalog.nonconforming)):
        good += f", {hidden} of them not listed to clients"
    left_out = f"; {pluralize(found.unchanged, 'skill')} without changes {since} left out"
    stderr_console().print(f"{good}; {counts}{left_out if found.unchanged else ''}")
    if found.fixed is not None and found.problems:
        nothing = "nothing here can be fixed automatically"
        stderr_console().print("fix the remaining problems by hand" if found.fixed else nothing)
    if found.is_empty and not found.problems:
        stderr_console().print(NO_SKILLS)
    return 1 if errors or (strict and (warnings or found.is_empty)) else 0
