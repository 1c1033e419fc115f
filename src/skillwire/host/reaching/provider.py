"""What a host wants of a place that skills come from: a server, or a folder of the person's own."""

from collections.abc import Mapping
from typing import Any, Protocol

from skillwire.host.reaching.client import Listing
from skillwire.wire.remote import RemoteSkill


class Provider(Protocol):
    """One place, under the label that the host gave it.

    Its methods raise `SkillwireError` or `MCPError`. Nothing that they return was compared with anything.
    """

    @property
    def label(self) -> str: ...

    @property
    def local(self) -> bool:
        """Whether these are the person's own files, which nobody has to approve."""
        ...

    async def list(self) -> Listing: ...

    async def get(self, uri: str) -> RemoteSkill:
        """Return the skill at `uri`, listed or not, as it is now (H3, H15)."""
        ...

    async def read(self, uri: str, size: int | None = None) -> bytes: ...

    async def read_directory(self, uri: str) -> "list[Mapping[str, Any]]": ...
