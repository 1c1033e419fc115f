"""Reports as text, for people."""

from collections.abc import Iterable, Sequence
from itertools import islice

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from skillwire.evals.levels.budget import SHOWN, SkillBudget
from skillwire.evals.levels.routing import CLAIM
from skillwire.evals.report import Comparison, EvalReport
from skillwire.evals.reports.wording import (
    FALSE,
    TRIGGER,
    explain,
    percent,
    points,
    rate_text,
    requests,
    shorten,
)
from skillwire.evals.statistics import Rate
from skillwire.evals.verdict import CaseResult, Rates, Verdict
from skillwire.safe_text import escape_invisible
from skillwire.terminal.messages import pluralize
from skillwire.terminal.output import stdout_console

_WIDTH = 100
_BAR = 10
"""Number of characters of a whole bar."""
_MAX_GROUPS, _MAX_QUERIES, _MAX_SKILLS = 10, 3, 40
_GOOD, _FAIR = 0.9, 0.6
_COLOURS = {"shortened": "yellow", "dropped": "red", "refused": "red"}


class _Printer:
    def __init__(self) -> None:
        self._console: Console = stdout_console()
        terminal = self._console.is_terminal
        self._width = min(self._console.width, _WIDTH) if terminal else _WIDTH

    def line(self, text: str | Text = "", style: str = "") -> None:
        self._console.print(text if isinstance(text, Text) else Text(text, style=style))

    def wrapped(self, text: str, indent: int, style: str = "") -> None:
        shown = Text(escape_invisible(text), style=style)
        for line in shown.wrap(self._console, max(self._width - indent, 20), overflow="fold"):
            line.rstrip()
            self._console.print(Text.assemble(" " * indent, line))

    def more(self, shown: int, total: int) -> None:
        if total > shown:
            self.line(f"  and {total - shown:,} more; `--json` lists all", "dim")


def print_report(report: EvalReport) -> None:
    """Print the report of the level `routing`."""
    printer, by_skill = _Printer(), report.by_skill
    cases = pluralize(len(report.results), "case")
    printer.line(f"{cases} for {pluralize(len(by_skill), 'skill')}, searched among {report.skills:,}", "bold")
    printer.line(f"This is {CLAIM}: it shows which skill the words of a request lead to.", "dim")
    _print_skills(printer, by_skill.items())
    _print_confusions(printer, report)
    missed = [each for each in report.results if each.case.should_trigger and each.verdict is Verdict.NONE]
    _print_cases(printer, "No skill fits well", missed)
    false = [each for each in report.results if not each.case.should_trigger and not each.passed]
    _print_cases(printer, f"Skills that are {FALSE}", false)
    if report.comparison is not None:
        _print_comparison(printer, report.comparison)
    rates = report.rates
    printer.line()
    printer.line(f"{TRIGGER.capitalize()}: {rate_text(rates.trigger)}", "bold")
    printer.line(f"{FALSE.capitalize()}: {rate_text(rates.false)}", "bold")


def _print_skills(printer: _Printer, skills: Iterable[tuple[str, Sequence[CaseResult]]]) -> None:
    # The skills with the most cases that did not pass come first.
    ordered = sorted(skills, key=lambda each: -sum(not result.passed for result in each[1]))
    shown = [(escape_invisible(name, 40), Rates.of(each)) for name, each in ordered[:_MAX_SKILLS]]
    names = max(cell_len(name) for name, _ in shown)
    counts = max(len(_counts(rates.trigger)) for _, rates in shown)
    printer.line()
    head = f"  {'':{names}}  {TRIGGER:{max(counts + _BAR + 2, len(TRIGGER))}}  {FALSE}"
    printer.line(head.rstrip(), "dim")
    for name, rates in shown:
        padded = name + " " * (names - cell_len(name))
        filler = " " * max(len(TRIGGER) - counts - _BAR - 2, 0)
        trigger, false = rates.trigger, rates.false
        printer.line(
            Text.assemble(
                f"  {padded}  ",
                (f"{_counts(trigger):>{counts}}  {_bar(trigger)}", _colour(trigger)),
                f"{filler}  ",
                (_counts(false), "red" if false.successes else ""),
            )
        )
    printer.more(len(shown), len(ordered))


def _counts(rate: Rate) -> str:
    return f"{rate.successes:,} of {rate.total:,}" if rate.total else "none"


def _bar(rate: Rate) -> str:
    if rate.value is None:
        return " " * _BAR
    full = round(rate.value * _BAR)
    return "█" * full + "░" * (_BAR - full)


def _colour(rate: Rate) -> str:
    if rate.value is None:
        return ""
    return "green" if rate.value >= _GOOD else "yellow" if rate.value >= _FAIR else "red"


def _print_confusions(printer: _Printer, report: EvalReport) -> None:
    confusions = report.confusions
    if not confusions:
        return
    printer.line()
    printer.line("Confused skills", "bold")
    for each in confusions[:_MAX_GROUPS]:
        near = sum(result.is_near_miss for result in each.results)
        close = f", {near:,} of them a near miss" if near else ""
        number = requests(len(each.results))
        printer.wrapped(f"{each.skill} → {each.used}: {number}{close}", 2, "yellow")
        for result in each.results[:_MAX_QUERIES]:
            printer.wrapped(f"“{shorten(result.case.query)}”", 4)
        if len(each.results) > _MAX_QUERIES:
            printer.wrapped(f"and {len(each.results) - _MAX_QUERIES:,} more", 4, "dim")
        if each.words:
            words = ", ".join(islice(each.words, 8))
            printer.wrapped(f"only {each.used} has in its name or description: {words}", 4, "dim")
    printer.more(_MAX_GROUPS, len(confusions))


def _print_cases(printer: _Printer, title: str, results: Sequence[CaseResult]) -> None:
    if not results:
        return
    printer.line()
    printer.line(title, "bold")
    for each in results[:_MAX_GROUPS]:
        printer.wrapped(f"{each.skill}: “{shorten(each.case.query)}”", 2, "yellow")
        printer.wrapped(explain(each).replace("`", "") or str(each.evidence).replace("`", ""), 4, "dim")
    printer.more(_MAX_GROUPS, len(results))


def _print_comparison(printer: _Printer, comparison: Comparison) -> None:
    printer.line()
    difference = comparison.difference
    if difference.value is None or difference.interval is None:
        printer.line("The earlier report has none of these cases.", "bold")
        return
    before, after = (each.value or 0 for each in (difference.before, difference.after))
    low, high = (points(each) for each in difference.interval)
    printer.line(
        f"Compared with the earlier report: {percent(before)} passed, now {percent(after)}, "
        f"{points(difference.value)} points ({low} to {high})",
        "bold",
    )
    for title, results, style in (("fixed", comparison.fixed, "green"), ("broken", comparison.broken, "red")):
        for each in results[:_MAX_GROUPS]:
            printer.wrapped(f"{title}: {each.skill}: “{shorten(each.case.query)}”", 2, style)
        printer.more(_MAX_GROUPS, len(results))
    if comparison.gone:
        printer.wrapped(f"only in the earlier report: {pluralize(comparison.gone, 'case')}", 2, "yellow")


def print_budgets(budgets: Sequence[SkillBudget]) -> None:
    """Print the report of the level `budget`."""
    printer = _Printer()
    ways = max((len(each.ways) for each in budgets), default=0)
    whole = sum(each.whole == len(each.ways) for each in budgets)
    printer.line(
        f"{whole:,} of {pluralize(len(budgets), 'skill')} shown whole in all {ways} ways to connect", "bold"
    )
    printer.line("A description that a client does not show cannot lead a model to its skill.", "dim")
    cut = sorted((each for each in budgets if each.whole < len(each.ways)), key=lambda each: each.whole)
    for each in cut[:_MAX_SKILLS]:
        printer.wrapped(f"{each.skill}: whole in {each.whole} of {len(each.ways)}", 2, "yellow")
        for shown in each.ways:
            if shown.verdict != SHOWN:
                reason = f" ({shown.reason})" if shown.reason else ""
                printer.wrapped(f"{shown.way}: {shown.verdict}{reason}", 4, _COLOURS.get(shown.verdict, ""))
    printer.more(_MAX_SKILLS, len(cut))
    if cut:
        printer.line("`skillwire doctor` shows the limits of each client.", "dim")
