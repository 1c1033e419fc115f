"""A report as a page. It is complete in itself, loads nothing and needs no script."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape

from skillwire.core.html import inline_hashes
from skillwire.evals.levels.routing import CLAIM, Confusion
from skillwire.evals.report import Comparison, EvalReport
from skillwire.evals.reports.wording import (
    FALSE,
    TRIGGER,
    explain,
    interval_text,
    percent,
    points,
    requests,
    shorten,
)
from skillwire.evals.statistics import Interval, Rate
from skillwire.evals.verdict import CaseResult, Rates
from skillwire.safe_text import collapse_lines, escape_invisible
from skillwire.terminal.messages import pluralize

_MAX_CASES, _MAX_PAIRS, _MAX_QUOTES = 5_000, 100, 5
_GOOD, _FAIR = 0.9, 0.6
_LITERAL = re.compile(r"`([^`]+)`")


def render_page(report: EvalReport) -> str:
    """Return the page of a report. The same report always gives the same page."""
    html = _template()
    policy = (
        f"default-src 'none'; style-src {inline_hashes(html, 'style')}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "<!--policy-->": f'<meta http-equiv="Content-Security-Policy" content="{policy}" />',
        "<!--content-->": "\n".join(_content(report)),
    }
    # One pass over the template: text of a case that looks like a placeholder stays as it is.
    return re.sub("|".join(map(re.escape, parts)), lambda found: parts[found[0]], html)


@cache
def _template() -> str:
    from importlib.resources import files  # noqa: PLC0415 - needed only for a page

    return files("skillwire.evals.reports").joinpath("assets", "report.html").read_text(encoding="utf-8")


def _content(report: EvalReport) -> Iterable[str]:
    by_skill, rates = report.by_skill, report.rates
    cases, skills = pluralize(len(report.results), "case"), pluralize(len(by_skill), "skill")
    yield "<h1>Do requests lead to the right skill?</h1>"
    yield f'<p class="soft">{cases} for {skills}, searched among {report.skills:,}</p>'
    yield f'<p class="claim">{escape(CLAIM.capitalize())}</p>'
    yield '<div class="tiles">'
    yield _tile(TRIGGER, rates.trigger, good_is_high=True)
    yield _tile(FALSE, rates.false, good_is_high=False)
    if report.comparison is not None:
        yield _comparison(report.comparison)
    yield "</div>"
    yield "<h2>Skills</h2>"
    yield _table(by_skill.items())
    if confusions := report.confusions:
        yield '<h2>Confused skills</h2><div class="pairs">'
        yield from map(_pair, confusions[:_MAX_PAIRS])
        yield "</div>"
    yield "<h2>All cases</h2>"
    yield from (_cases(skill, results) for skill, results in by_skill.items())


def _tile(title: str, rate: Rate, *, good_is_high: bool) -> str:
    if rate.value is None or rate.interval is None:
        shown, kind, below = "none", "soft", "<small>There are no such cases.</small>"
    else:
        shown = percent(rate.value)
        kind = _kind(rate.value if good_is_high else 1 - rate.value)
        below = (
            f"{_track(rate.interval, rate.value)}<small>{rate.successes:,} of {rate.total:,}. "
            f"With 95&nbsp;% confidence, {interval_text(rate.interval).replace(' %', '&nbsp;%')}.</small>"
        )
    return (
        f'<section class="card tile"><p class="soft">{escape(title.capitalize())}</p>'
        f'<p class="value {kind}">{shown}</p>{below}</section>'
    )


def _track(interval: Interval, value: float, low: float = 0, high: float = 1) -> str:
    """Return a drawing of a value with its interval on a scale from `low` to `high`."""
    start, end, at = ((each - low) / (high - low) * 100 for each in (*interval, value))
    return (
        '<svg class="track" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="base" y="3" width="100" height="4"/>'
        f'<rect class="range" x="{start:.2f}" y="1" width="{max(end - start, 0.5):.2f}" height="8"/>'
        f'<rect class="dot" x="{min(max(at - 0.6, 0), 98.8):.2f}" width="1.2" height="10"/></svg>'
    )


def _comparison(comparison: Comparison) -> str:
    difference = comparison.difference
    if difference.value is None or difference.interval is None:
        shown, kind, below = "none", "soft", "<small>The earlier report has none of these cases.</small>"
    else:
        shown = f"{points(difference.value)} points"
        kind = "good" if difference.value > 0 else "bad" if difference.value < 0 else "soft"
        low, high = (points(each) for each in difference.interval)
        below = (
            f"{_track(difference.interval, difference.value, -1, 1)}"
            f"<small>{len(comparison.fixed):,} fixed, {len(comparison.broken):,} broken, "
            f"of {difference.total:,}. With 95&nbsp;% confidence, {low} to {high} points.</small>"
        )
    return (
        '<section class="card tile"><p class="soft">Compared with the earlier report</p>'
        f'<p class="value {kind}">{shown}</p>{below}</section>'
    )


def _table(skills: Iterable[tuple[str, Sequence[CaseResult]]]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(escape_invisible(skill))}</th>{_cell(rates.trigger, 1)}'
        f"{_cell(rates.false, -1)}</tr>"
        for skill, rates in ((skill, Rates.of(results)) for skill, results in skills)
    )
    return (
        '<div class="card scroll"><table><caption class="sr">The rates of each skill</caption><thead><tr>'
        f'<th scope="col">Skill</th><th scope="col">{escape(TRIGGER.capitalize())}</th>'
        f'<th scope="col">{escape(FALSE.capitalize())}</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _cell(rate: Rate, sign: int) -> str:
    """Return a cell. With a negative `sign`, a low rate is good."""
    if rate.value is None:
        return '<td class="soft">none</td>'
    kind = _kind(rate.value if sign > 0 else 1 - rate.value)
    bar = (
        f'<svg class="bar {kind}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="base" width="100" height="8"/>'
        f'<rect class="full" width="{rate.value * 100:.1f}" height="8"/></svg>'
    )
    return f"<td>{rate.successes:,} of {rate.total:,}{bar}</td>"


def _kind(value: float) -> str:
    return "good" if value >= _GOOD else "fair" if value >= _FAIR else "bad"


def _pair(confusion: Confusion) -> str:
    quotes = "".join(
        f'<blockquote dir="auto">{_query(each)}</blockquote>' for each in confusion.results[:_MAX_QUOTES]
    )
    more = len(confusion.results) - _MAX_QUOTES
    rest = f'<p class="why">and {more:,} more</p>' if more > 0 else ""
    used = escape(escape_invisible(confusion.used))
    words = ""
    if confusion.words:
        chips = "".join(f'<span class="chip" dir="auto">{escape(word)}</span>' for word in confusion.words)
        said = f"Only <code>{used}</code> has these words in its name or description:"
        words = f'<p class="why">{said}<br>{chips}</p>'
    return (
        f'<section class="card pair"><h3><span>{escape(escape_invisible(confusion.skill))}</span>'
        f'<span class="arrow" aria-label="is confused with">→</span><span>{used}</span>'
        f'<span class="count">{requests(len(confusion.results))}</span></h3>{quotes}{rest}{words}</section>'
    )


def _cases(skill: str, results: Sequence[CaseResult]) -> str:
    failed = [each for each in results if not each.passed]
    # The cases that did not pass come first.
    ordered = [*failed, *(each for each in results if each.passed)]
    rows = "".join(map(_case, ordered[:_MAX_CASES]))
    is_open = " open" if failed else ""
    count = f"{len(results) - len(failed):,} of {len(results):,} passed"
    return (
        f'<details class="card"{is_open}><summary><h3>{escape(escape_invisible(skill))}</h3>'
        f'<span class="count">{count}</span></summary><ul class="cases">{rows}</ul></details>'
    )


def _case(result: CaseResult) -> str:
    mark, kind, said = ("✓", "good", "passed") if result.passed else ("✗", "bad", "did not pass")
    should = "should be used" if result.case.should_trigger else "should not be used"
    told = explain(result)
    why = f"; {told}" if told else ""
    text = _text(f"{should}: {result.evidence}{why}")
    return (
        f'<li><span class="mark {kind}"><span aria-hidden="true">{mark}</span><span class="sr">{said}</span>'
        f'</span><span class="query" dir="auto">{_query(result)}</span><p class="soft">{text}</p></li>'
    )


def _query(result: CaseResult) -> str:
    return escape(shorten(result.case.query))


def _text(text: str) -> str:
    """Return text as HTML. Text in backticks is code."""
    return _LITERAL.sub(r"<code>\1</code>", escape(collapse_lines(text)))
