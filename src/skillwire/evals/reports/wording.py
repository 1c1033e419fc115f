"""What reports say in words, so that the terminal, the page and the files say the same."""

from skillwire.evals.statistics import Interval, Rate
from skillwire.evals.verdict import CaseResult, Verdict
from skillwire.safe_text import collapse_lines
from skillwire.terminal.messages import pluralize

MAX_QUERY = 160
"""Maximum number of characters of a query in a report for people."""
TRIGGER = "used when it should be"
FALSE = "used when it should not be"


def shorten(query: str) -> str:
    """Return a query on one line, cut if it is long."""
    line = collapse_lines(query)
    return line if len(line) <= MAX_QUERY else f"{line[: MAX_QUERY - 1]}…"


def percent(value: float) -> str:
    return f"{value:.0%}".replace("%", " %")


def points(value: float) -> str:
    """Return a difference in percentage points, with its sign."""
    return f"{value * 100:+.0f}"


def rate_text(rate: Rate) -> str:
    """Return a rate with its counts and interval, such as `3 of 4, 75 % (30 % to 95 %)`."""
    if rate.value is None or rate.interval is None:
        return "no cases"
    counts = f"{rate.successes:,} of {rate.total:,}"
    return f"{counts}, {percent(rate.value)} ({interval_text(rate.interval)})"


def interval_text(interval: Interval) -> str:
    return f"{percent(interval[0])} to {percent(interval[1])}"


def explain(result: CaseResult) -> str:
    """Return why a case did not pass, and what to do about it. Empty if it passed or no word tells."""
    if result.passed or not result.words:
        return ""
    words = ", ".join(result.words)
    match result.verdict:
        case Verdict.OTHER:
            used = result.evidence.first
            return f"only `{used}` has in its name or description: {words}"
        case Verdict.NONE:
            return f"not in the name or description of `{result.skill}`: {words}"
        case Verdict.TRIGGERED:
            return f"in the name or description of `{result.skill}`: {words}"


def requests(number: int) -> str:
    return pluralize(number, "request")
