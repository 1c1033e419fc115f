"""What one `skillwire serve` serves, and its start: load the library, report what there is."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import TYPE_CHECKING

from skillwire.app.admin import AdminService
from skillwire.config.file import ConfigFile, SourceSettings, overrides_in
from skillwire.config.library import check_command, load
from skillwire.config.source_config import LibraryOptions, open_sources
from skillwire.contract.options import ContractOptions
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.errors import UsageError
from skillwire.library.catalog import Catalog
from skillwire.library.library import Library
from skillwire.library.visibility import VisibilityPolicy
from skillwire.pages.overview import UNLOCK_OVER_MCP, Overview, ShowPlaces
from skillwire.safe_text import quoted, visible
from skillwire.sources.base import Source
from skillwire.sources.placeholder import UnavailableSource
from skillwire.terminal.messages import NO_SKILLS, counted, say

if TYPE_CHECKING:
    from skillwire.drive.live import LiveSkills


def live_source(more: Callable[[str], Source], sources: Sequence[Source]) -> Source:
    """Return the source that `more` makes, under a label that none of `sources` has."""
    return more(_free({source.label for source in sources}))


def _free(taken: Collection[str]) -> str:
    labels = (f"live-{number}" for number in count(2))
    return next(label for label in chain(["live"], labels) if label not in taken)


@dataclass(frozen=True, slots=True)
class ServedLibrary:
    """What is served, and by which terms."""

    library: Library
    steering: AdminService
    terms: ContractOptions | None = None
    live: "LiveSkills | None" = None

    def overview(
        self,
        *,
        show_places: ShowPlaces = ShowPlaces.TO_THOSE_WHO_MAY_CHANGE,
        unlock: str = UNLOCK_OVER_MCP,
    ) -> Overview:
        """Return what pages show of it.

        MCP clients see where skills are on this machine only if they may change the server.
        """
        if not self.steering.editable and show_places is ShowPlaces.TO_THOSE_WHO_MAY_CHANGE:
            show_places = ShowPlaces.NEVER
        if self.terms is None:
            return Overview(self.library, self.steering, show_places=show_places, unlock=unlock)
        from skillwire.contract.publishing import Register  # noqa: PLC0415 - most servers have no contract

        register = Register(self.terms)

        def problems(catalog: Catalog) -> tuple[Problem, ...]:
            return register.of(catalog).contracted.problems

        return Overview(
            self.library, self.steering, show_places=show_places, unlock=unlock, problems=problems
        )


def open_served_library(
    arguments: Sequence[str],
    options: LibraryOptions,
    file: ConfigFile | None,
    *,
    terms: ContractOptions | None = None,
    live: "LiveSkills | None" = None,
    editable: bool = False,
) -> ServedLibrary:
    """Return all that is wanted, not loaded yet. Raises `UsageError`."""
    opened = open_sources(arguments, options, file)
    sources = [each.source for each in opened]
    more = [] if live is None else [live_source(live.source, sources)]
    configured = SourceSettings() if file is None else SourceSettings.read(file)
    library = Library(
        [*sources, *more],
        frozen=options.frozen or (configured.static and live is None),
        visibility=None if file is None else VisibilityPolicy(overrides_in(file)),
    )
    steering = AdminService(
        library,
        opened,
        arguments=arguments,
        options=replace(options, may_be_none=True),
        file=file,
        editable=editable,
        more=more,
        static_by_flag=options.frozen,
    )
    return ServedLibrary(library, steering, terms, live)


_OF_A_SOURCE = {Rule.SOURCE_FAILED, Rule.SOURCE_STALE}
"""What is said of a source at the start, in full: it concerns all of its skills."""


async def start(gateway: ServedLibrary) -> None:
    """Load the library and say what there is. Raises `UsageError`."""
    library, terms = gateway.library, gateway.terms
    catalog = await load(library)
    if terms is not None:
        from skillwire.contract.serving import check_before_serving  # noqa: PLC0415 - most servers have none

        check_before_serving(library, terms)
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
        say(f"{counts}; {check_command(library)} them")
    elif not catalog.entries and not library.waited_for and gateway.live is None:
        say(NO_SKILLS if library.sources else "no source is configured; add one in the page")


def _tell_of_sources(gateway: ServedLibrary) -> None:
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
