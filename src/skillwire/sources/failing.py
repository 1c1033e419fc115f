"""A source that cannot be looked at now, as a problem that people can see."""

from skillwire.model.display import quoted
from skillwire.model.errors import AwayError, SourceError
from skillwire.model.problem import Problem, Rule, Severity

_FIX = "fix the source; it is looked at again after a while, at the latest every half a minute"
_COMES_BACK = "nothing to do if it comes back: it is asked again from time to time"


def failure(label: str, error: SourceError, *, known: bool) -> Problem:
    """Return what is wrong with the source `label`; `known` says whether something of it is still listed."""
    what = "shows as it was" if known else "is not served"
    return Problem(
        ".",
        Rule.SOURCE_FAILED,
        Severity.ERROR,
        f"the source {quoted(label)} {what}: {error}",
        hint=_COMES_BACK if isinstance(error, AwayError) else _FIX,
    )
