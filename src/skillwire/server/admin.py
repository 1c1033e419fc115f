"""What pages can steer: where skills come from, who may start them, and whether they stay as they are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """One source that is served, as its operator knows it."""

    label: str
    kind: str
    place: str
    """A folder or an address. Shown to whoever runs the server."""
    origin: str
    """What its skills are said to come from: `owner/repo` on GitHub, a host on the web, else the label."""
    given_by: str
    removable: bool
    fetched: datetime | None = None
    """When it was fetched the last time; None for what is looked at where it is."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What else the operator decided."""

    static: bool = False
    static_fixed: str = ""
    """Who decided on static mode, so that it cannot be changed here; empty if it can."""
    allowed_origins: tuple[str, ...] = ()
    config_file: str = ""


class Admin(Protocol):
    """Changes the running server, and what it will do after its next start."""

    @property
    def editable(self) -> bool:
        """Whether anything can be changed at all."""
        ...

    def sources(self) -> Sequence[SourceFacts]:
        """Return every source, in the order that decides who keeps a path."""
        ...

    def settings(self) -> ServerSettings: ...

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have `listener` called after every change, until what this returns is called."""
        ...

    async def add_source(self, source: str, label: str | None, prefix: str | None) -> None:
        """Serve one more source. Raises `UsageError`, as all of these do."""
        ...

    async def remove_source(self, label: str) -> None: ...

    async def sync_source(self, label: str) -> None:
        """Fetch a source now, and look at it again."""
        ...

    async def set_visibility(self, uri: str, sides: Mapping[str, bool | None]) -> None:
        """Decide for `assistant`, `user` or both; None leaves that side to the frontmatter."""
        ...

    async def set_allowed_origins(self, origins: Sequence[str]) -> None: ...

    async def set_static(self, *, static: bool) -> None: ...
