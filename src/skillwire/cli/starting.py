"""The start of a server: everything is looked at once, and its operator is told what there is."""

import sys

from skillwire.cli.collecting import keep_out_of_the_collector
from skillwire.cli.gateway import Gateway
from skillwire.cli.library import load
from skillwire.cli.saying import NO_SKILLS, check_shows, counted, say
from skillwire.model.display import quoted, visible
from skillwire.model.errors import UsageError
from skillwire.model.problem import Rule, Severity
from skillwire.sources.unavailable import UnavailableSource

_SWITCH_SECONDS = 0.001
"""How long a request waits, at most, for each turn of a thread that looks at folders meanwhile."""
_OF_A_SOURCE = {Rule.SOURCE_FAILED, Rule.SOURCE_STALE}
"""What is said of a source at the start, in full: it concerns all of its skills."""


async def start(gateway: Gateway) -> None:
    """Load the library and say what there is. Raises `UsageError`."""
    library, terms = gateway.library, gateway.terms
    catalog = await load(library)
    if terms is not None:
        from skillwire.cli.contract.starting import hold_to_contract  # noqa: PLC0415 - most servers have none

        hold_to_contract(library, terms)
    library.listen(lambda _: keep_out_of_the_collector())
    sys.setswitchinterval(_SWITCH_SECONDS)
    say(counted(len(catalog.entries), "skill"))
    _tell_of_sources(gateway)
    for problem in catalog.problems:
        if problem.rule in _OF_A_SOURCE:
            say(visible(problem.message))
    # Static mode that was chosen in a page must not lock that page out.
    by_flag = bool(gateway.steering.settings().static_fixed)
    if by_flag and any(problem.rule is Rule.SOURCE_FAILED for problem in catalog.problems):
        hint = "with `--static` nobody would ask again; mend the source, or leave `--static` out"
        raise UsageError("a source has no skills to freeze", hint=hint)
    told = [problem for problem in catalog.problems if problem.rule is not Rule.SOURCE_WAITING]
    errors = sum(problem.severity is Severity.ERROR for problem in told)
    warnings = len(told) - errors
    if errors or warnings:
        counts = f"{counted(errors, 'error')}, {counted(warnings, 'warning')}"
        say(f"{counts}; {check_shows(library)} them")
    elif not catalog.entries and not library.waited_for and gateway.live is None:
        say(NO_SKILLS if library.sources else "no source is configured; add one in the page")


def _tell_of_sources(gateway: Gateway) -> None:
    library = gateway.library
    for source in library.waited_for:
        say(f"waiting for {quoted(source.place)}, which does not exist")
    for source in library.sources:
        if isinstance(source, UnavailableSource):
            say(f"{quoted(source.place)} is not served: {visible(source.reason)}")
    for facts in gateway.steering.sources():
        if facts.kind == "server":  # not everybody knows the difference to `skillwire bridge` (H30)
            told = "its skills go to models and people unapproved; `skillwire bridge` asks you first"
            say(f"{quoted(facts.label)} is a server that you trust: {told}")
