"""What the pages of a bridge show about its servers. A running bridge cannot be changed."""

# ruff: noqa: ARG002 - the methods that make a change refuse it, whatever their arguments are

from collections.abc import Callable, Collection, Mapping, Sequence

from skillwire.errors import UsageError
from skillwire.host.connections.target import Target
from skillwire.library.library import Library
from skillwire.safe_text import escape_invisible
from skillwire.server.admin import ServerSettings, SourceFacts

TRUSTED, NEEDS_APPROVAL = "trusted", "approval"
"""Whether the skills of a server need approval, in place of who named a source."""


class BridgeAdmin:
    """Implements `Admin` for a bridge: each source is a server."""

    def __init__(self, library: Library, targets: Sequence[Target], trusted: Collection[str]) -> None:
        self._library = library
        self._targets = {target.label: target for target in targets}
        self._trusted = trusted

    @property
    def editable(self) -> bool:
        return False

    def sources(self) -> list[SourceFacts]:
        return [self._facts(source.label) for source in self._library.sources]

    def settings(self) -> ServerSettings:
        return ServerSettings()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    async def follow(self) -> None:
        """Return at once, because a bridge has no configuration of its own."""

    async def add_source(self, source: str, label: str | None, prefix: str | None) -> None:
        raise _unchangeable()

    async def remove_source(self, label: str) -> None:
        raise _unchangeable()

    async def sync_source(self, label: str) -> None:
        raise _unchangeable()

    async def set_visibility(self, uri: str, sides: Mapping[str, bool | None]) -> None:
        raise _unchangeable()

    async def set_allowed_origins(self, origins: Sequence[str]) -> None:
        raise _unchangeable()

    async def set_static(self, *, static: bool) -> None:
        raise _unchangeable()

    def _facts(self, label: str) -> SourceFacts:
        target = self._targets.get(label)
        if target is None:  # the state of the bridge, which cannot be used
            return SourceFacts(label, "unavailable", "", label, "", removable=False)
        given_by = TRUSTED if label in self._trusted else NEEDS_APPROVAL
        place = escape_invisible(target.place)  # contains no secrets, unlike `as_written`
        return SourceFacts(label, "server", place, label, given_by, removable=False)


def _unchangeable() -> UsageError:
    return UsageError("a running bridge cannot be changed", hint="approve skills with `skillwire approve`")
