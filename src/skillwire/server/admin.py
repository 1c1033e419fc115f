"""Interface for changing a running server: its sources, visibility, allowed origins and static mode."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """One served source, as shown to the operator."""

    label: str
    kind: str
    place: str
    """A folder or a URL. Shown only to the operator."""
    origin: str
    """The origin shown for its skills: `owner/repo` on GitHub, a host on the web, else the label."""
    given_by: str
    removable: bool
    fetched: datetime | None = None
    """Time of the last fetch; None for a source that is read in place."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of a server that are not about one source."""

    static: bool = False
    static_fixed: str = ""
    """The option or file that fixes static mode; empty if static mode can be changed here."""
    allowed_origins: tuple[str, ...] = ()
    config_file: str = ""


class Admin(Protocol):
    """Changes the running server, and the configuration that it starts with next time.

    Every method that changes something raises `UsageError` if it cannot.
    """

    @property
    def editable(self) -> bool:
        """Whether this server can be changed."""
        ...

    def sources(self) -> Sequence[SourceFacts]:
        """Return every source. If two sources have a skill at the same path, the first one keeps it."""
        ...

    def settings(self) -> ServerSettings: ...

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change. Return a function that stops that."""
        ...

    async def add_source(self, source: str, label: str | None, prefix: str | None) -> None:
        """Serve one more source."""
        ...

    async def remove_source(self, label: str) -> None: ...

    async def sync_source(self, label: str) -> None:
        """Fetch a source now, and scan it again."""
        ...

    async def set_visibility(self, uri: str, sides: Mapping[str, bool | None]) -> None:
        """Set the visibility for `assistant`, `user` or both; None leaves a side to the frontmatter."""
        ...

    async def set_allowed_origins(self, origins: Sequence[str]) -> None: ...

    async def set_static(self, *, static: bool) -> None: ...
