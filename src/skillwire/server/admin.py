"""Interface for changing a running server: its sources, visibility, allowed origins and static mode."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """One served source, as the pages show it."""

    label: str
    kind: str
    place: str
    """The source's folder or URL. The pages do not show local paths to every client."""
    origin: str
    """The provider shown for the source's skills: `owner/repo` on GitHub, else the source's label."""
    given_by: str
    removable: bool
    fetched: datetime | None = None
    """When the source was last fetched or found unchanged; None if it was never fetched."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings that apply to a whole server."""

    static: bool = False
    static_fixed: str = ""
    """Where static mode was set if it cannot be changed here, such as `command line`; else empty."""
    allowed_origins: tuple[str, ...] = ()
    config_file: str = ""


class Admin(Protocol):
    """Changes a running server and the configuration with which it starts next time.

    A method raises `UsageError` if it cannot make the change.
    """

    @property
    def editable(self) -> bool:
        """Whether this server accepts changes. If not, every method that makes one raises `UsageError`."""
        ...

    def sources(self) -> Sequence[SourceFacts]:
        """Return every source, in order of precedence.

        If two sources have a skill at the same path, the first source keeps the path.
        """
        ...

    def settings(self) -> ServerSettings: ...

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change. Return a function that removes the listener."""
        ...

    async def follow(self) -> None:
        """Apply every change that others make to the configuration, until cancelled or nothing can change."""
        ...

    async def add_source(self, source: str, label: str | None, prefix: str | None) -> None:
        """Add a source, and serve its skills."""
        ...

    async def remove_source(self, label: str) -> None: ...

    async def sync_source(self, label: str) -> None:
        """Fetch a source now, and scan it again."""
        ...

    async def set_visibility(self, uri: str, sides: Mapping[str, bool | None]) -> None:
        """Set the visibility of the skill at `uri` for the keys `assistant`, `user` or both.

        True allows the use, False forbids it. With None, the frontmatter decides.
        """
        ...

    async def set_allowed_origins(self, origins: Sequence[str]) -> None: ...

    async def set_static(self, *, static: bool) -> None: ...
