"""All that one `skillwire serve` serves: the library, what steers it, and what it is held to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from skillwire.catalog.library import Library
from skillwire.catalog.snapshot import Catalog
from skillwire.catalog.visibility import VisibilityPolicy
from skillwire.cli.library import one_more
from skillwire.config.configured import Configured
from skillwire.config.file import ConfigFile
from skillwire.config.opening import LibraryOptions, open_sources
from skillwire.config.steering import Steering
from skillwire.config.visibility import overrides_in
from skillwire.contract.terms import Terms
from skillwire.model.problem import Problem
from skillwire.surfaces.overview import UNLOCK_OVER_MCP, Overview, ShowPlaces

if TYPE_CHECKING:
    from skillwire.drive.live import LiveSkills


@dataclass(frozen=True, slots=True)
class Gateway:
    """What is served, and by which terms."""

    library: Library
    steering: Steering
    terms: Terms | None = None
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
        from skillwire.catalog.register import Register  # noqa: PLC0415 - most servers have no contract

        register = Register(self.terms)

        def problems(catalog: Catalog) -> tuple[Problem, ...]:
            return register.of(catalog).contracted.problems

        return Overview(
            self.library, self.steering, show_places=show_places, unlock=unlock, problems=problems
        )


def open_gateway(
    arguments: Sequence[str],
    options: LibraryOptions,
    file: ConfigFile | None,
    *,
    terms: Terms | None = None,
    live: "LiveSkills | None" = None,
    editable: bool = False,
) -> Gateway:
    """Return all that is wanted, not loaded yet. Raises `UsageError`."""
    opened = open_sources(arguments, options, file)
    sources = [each.source for each in opened]
    more = [] if live is None else [one_more(live.source, sources)]
    configured = Configured() if file is None else Configured.read(file)
    library = Library(
        [*sources, *more],
        frozen=options.frozen or (configured.static and live is None),
        visibility=None if file is None else VisibilityPolicy(overrides_in(file)),
    )
    steering = Steering(
        library,
        opened,
        arguments=arguments,
        options=replace(options, may_be_none=True),
        file=file,
        editable=editable,
        more=more,
        static_by_flag=options.frozen,
    )
    return Gateway(library, steering, terms, live)
