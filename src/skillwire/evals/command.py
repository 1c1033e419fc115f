"""`skillwire eval`: check that requests lead to the right skill."""

import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import anyio
from cyclopts import Group, Parameter

from skillwire.config.choice import ConfigOptions, choose_config
from skillwire.config.library import check_command, load_library
from skillwire.config.report import located
from skillwire.core.names import EVALS_FOLDER
from skillwire.core.patterns import is_pattern, matches
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.core.record import SkillRecord
from skillwire.errors import RequestError, UsageError
from skillwire.evals.case_files import CaseSet, read_case_set
from skillwire.evals.levels.budget import budgets
from skillwire.evals.levels.routing import CLAIM, route
from skillwire.evals.report import EvalReport, compare, read_earlier
from skillwire.evals.reports.folder import write_folder
from skillwire.evals.reports.terminal import print_budgets, print_report
from skillwire.evals.reports.wording import rate_text
from skillwire.evals.search_area import use_stored_index
from skillwire.features.visible_skills import VisibleSkills
from skillwire.library.library import Library
from skillwire.safe_text import escape_invisible, quoted
from skillwire.terminal.messages import NO_SKILLS, pluralize, print_notice
from skillwire.terminal.options import RESULT, SELECTION, FollowLinks, json_of
from skillwire.terminal.output import print_json, print_problems, stderr_console

THRESHOLDS = Group("Thresholds", sort_key=9)
_EXAMPLE = """[
  {"query": "A request for which a model should use this skill", "should_trigger": true},
  {"query": "A similar request that needs another skill, or none", "should_trigger": false}
]"""


def evaluate(
    sources: Annotated[
        list[str] | None,
        Parameter(
            name="SOURCE", help="Source with the skills. Default: `SKILLS_DIR` and the configuration file."
        ),
    ] = None,
    /,
    *,
    level: Annotated[
        Literal["budget", "routing"],
        Parameter(
            metavar="LEVEL",
            show_default=True,
            help="`budget`: which clients show descriptions. `routing`: to which skills requests lead.",
        ),
    ] = "routing",
    skill: Annotated[
        list[str] | None,
        Parameter(
            group=SELECTION,
            metavar="NAME",
            help="Only the cases of this skill, or of the skills that match (repeatable).",
        ),
    ] = None,
    cases: Annotated[
        list[Path] | None,
        Parameter(
            metavar="FILE", help="Also read cases from this file (repeatable). Each case names its `skill`."
        ),
    ] = None,
    compare_with: Annotated[
        Path | None,
        Parameter(
            name="--compare", metavar="REPORT", help="Compare with an earlier report of `eval --json`."
        ),
    ] = None,
    min_trigger_rate: Annotated[
        float | None,
        Parameter(
            group=THRESHOLDS,
            metavar="RATE",
            help="Exit with code 1 if fewer requests lead to the skill that should be used, such as 0.9.",
        ),
    ] = None,
    max_false_rate: Annotated[
        float | None,
        Parameter(
            group=THRESHOLDS,
            metavar="RATE",
            help="Exit with code 1 if more requests lead to a skill that should not be used, such as 0.1.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        Parameter(
            group=RESULT,
            metavar="FOLDER",
            help="Also write the report as a page, JUnit XML, JSON, and files for the skill-creator.",
        ),
    ] = None,
    json: Annotated[
        bool,
        json_of(
            "{level, claim, cases: [{id, skill, query, should_trigger, verdict, passed, "
            "evidence: {kind, rank, first, weak}, words}], skills: [{skill, trigger: {count, total, rate, "
            "interval}, false: {count, total, rate, interval}}], confusions: [{skill, used, cases, words}], "
            "rates: {trigger, false}, interval: {trigger, false}, complete, problems, comparison?: "
            "{cases, before, after, difference, interval, fixed, broken, gone}} or {level, skills: [{skill, "
            "clients: [{client, way, verdict, reason}]}]}"
        ),
    ] = False,
    follow_links: FollowLinks = False,
    config: ConfigOptions = None,
) -> int:
    """Check that requests lead to the right skill.

    Reads the cases in the folder `evals` of each skill: requests for which a model should use the skill, and
    others for which it should not. Needs no model and no network.

    `--level routing` searches for each request as a model does with the tool `search-skills`, among all
    skills. It shows which skills are confused, and which words cause it. This is a proxy by words, not a
    model.

    `--level budget` shows which clients would show models the whole description of each skill.

    Exit code 1: there are no cases, a skill or a file with cases has an error, or a rate is beyond its
    threshold. Without a threshold, cases that do not pass do not change the exit code.

    For example:

    ```
    skillwire eval ./skills
    skillwire eval ./skills --skill refunds --json > before.json
    skillwire eval ./skills --min-trigger-rate 0.9 --max-false-rate 0.1 --out report
    ```
    """
    _validate_rate("--min-trigger-rate", min_trigger_rate)
    _validate_rate("--max-false-rate", max_false_rate)
    earlier = None if compare_with is None else read_earlier(compare_with)
    library = load_library(
        sources or [], follow_links=follow_links, config=choose_config(config, named=bool(sources))
    )
    chosen = _chosen(library, skill or [])
    errors = sum(each.severity is Severity.ERROR for each in library.catalog.problems)
    if errors:
        print_notice(f"{pluralize(errors, 'error')}; {check_command(library)} them")
    if not chosen:
        print_notice(NO_SKILLS)
        return 1
    if level == "budget":
        return _evaluate_budget(library, chosen, as_json=json)
    found = read_case_set(library.catalog, chosen, cases or [], partial(_find, library))
    in_folders = (*found.problems, *_unusable(library, found))
    print_problems(stderr_console(), (*located(in_folders, library), *found.named_problems))
    problems = (*in_folders, *found.named_problems)
    if not found.count:
        _explain_first_case(chosen[0], sources or [])
        return 1
    use_stored_index(library)
    results = tuple(anyio.run(route, library, found))
    skills = len(VisibleSkills.of(library).for_models())
    comparison = None if earlier is None else compare(results, earlier)
    complete = not errors and all(each.severity is not Severity.ERROR for each in problems)
    report = EvalReport(results, skills, problems, comparison, complete=complete)
    if json:
        print_json(report.to_json())
    else:
        print_report(report)
    if out is not None:
        write_folder(report, out)
        print_notice(f"open {quoted(str(out / 'index.html'))} in a browser")
    return 1 if _exceeds(report, min_trigger_rate, max_false_rate) or not complete else 0


def _evaluate_budget(library: Library, chosen: Sequence[SkillRecord], *, as_json: bool) -> int:
    names = VisibleSkills.of(library).names
    found = anyio.run(budgets, library, [names.handle(each) for each in chosen])
    if as_json:
        print_json({"level": "budget", "skills": [each.to_json() for each in found]})
    else:
        print_budgets(found)
    return 0


def _validate_rate(option: str, rate: float | None) -> None:
    if rate is not None and not 0 <= rate <= 1:
        raise UsageError(f"`{option}` is {rate:g}", hint="use a number from 0 to 1, such as 0.9 for 90 %")


def _find(library: Library, name: str) -> SkillRecord:
    """Return the skill that has a name. Raises `UsageError`."""
    try:
        return VisibleSkills.of(library).names.find(name)
    except RequestError as error:
        raise UsageError(str(error), hint="name a skill as `skillwire list` shows it") from error


def _chosen(library: Library, wanted: Sequence[str]) -> list[SkillRecord]:
    """Return the skills whose cases are used. Raises `UsageError` for a name or pattern without a skill."""
    visible = VisibleSkills.of(library)
    every = [each for each in library.catalog.entries.values() if visible.is_visible(each)]
    if not wanted:
        return every
    found = set[str]()
    for name in wanted:
        if not is_pattern(name):
            found.add(_find(library, name).uri)
            continue
        matching = {each.uri for each in every if matches(name, each.name, each.path)}
        if not matching:
            raise UsageError(f"no skill matches {quoted(name)}", hint="`skillwire list` shows the names")
        found |= matching
    return [each for each in every if each.uri in found]


def _unusable(library: Library, cases: CaseSet) -> list[Problem]:
    """Return a warning for each skill that should be used, but that models may not load."""
    visible = VisibleSkills.of(library)
    return [
        library.catalog.shown(
            Problem(
                each.skill.origin.path,
                Rule.EVAL_SKILL,
                Severity.WARNING,
                "models may not load this skill, so no request leads to it",
                "allow it, or remove the cases in which it should be used",
            ),
            each.skill.origin.source,
        )
        for each in cases.skills
        if not visible.is_for_models(each.skill) and any(case.should_trigger for case in each.questions)
    ]


def _explain_first_case(skill: SkillRecord, sources: Sequence[str]) -> None:
    """Print how to write the first cases."""
    location = Path(skill.origin.location)
    place = Path(skill.name)
    if location.is_absolute() and not skill.origin.foreign:
        place = location.relative_to(Path.cwd()) if location.is_relative_to(Path.cwd()) else location
    file = escape_invisible(str(place / EVALS_FOLDER / "triggers.json"))
    command = " ".join(map(shlex.quote, ["skillwire", "eval", *sources]))
    print_notice(f"there are no cases yet; write the first ones to `{file}`:\n")
    print_notice(_EXAMPLE)
    print_notice(f"\nthen run `{escape_invisible(command)}` again")


def _exceeds(report: EvalReport, lowest: float | None, highest: float | None) -> bool:
    """Return whether a rate is beyond its threshold, and print which."""
    rates, beyond = report.rates, False
    trigger, false = rates.trigger.value, rates.false.value
    if lowest is not None and (trigger is None or trigger < lowest):
        print_notice(f"the trigger rate is below {lowest:g}: {rate_text(rates.trigger)}")
        beyond = True
    if highest is not None and false is not None and false > highest:
        print_notice(f"the false rate is above {highest:g}: {rate_text(rates.false)}")
        beyond = True
    if beyond:
        print_notice(f"this is {CLAIM}")
    return beyond
