"""A server to which somebody else holds the connection, as a place that skills come from."""

from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

import anyio
from mcp import Client

from skillwire.host.client import Listing, SkillsClient
from skillwire.host.connecting import UnreachableError
from skillwire.host.label import checked_label
from skillwire.model.display import quoted
from skillwire.model.limits import Limits
from skillwire.wire.findings import Fault, Finding, FindingError
from skillwire.wire.messages import DIRECTORY_READ, EXTENSION, SKILLS_LIST
from skillwire.wire.remote import RemoteSkill

_T = TypeVar("_T")


class ConnectedServer:
    """Asks over a client of the SDK that is open, for as long as it is."""

    local = False

    def __init__(
        self, label: str, client: Client, identity: str | None = None, limits: Limits | None = None
    ) -> None:
        """`identity` is what the label stands for, such as a URL: without it, no approval is kept (H28)."""
        self.label = checked_label(label)
        self.identity = identity
        self._skills = SkillsClient(client, limits)

    @property
    def declared(self) -> Mapping[str, Any] | None:
        return self._skills.declared

    async def list(self) -> Listing:
        if self.declared is not None:
            return await self._asked(self._skills.list())
        listing = Listing()
        listing.end(_undeclared())
        return listing

    async def get(self, uri: str) -> RemoteSkill:
        if self.declared is None:
            raise FindingError(_undeclared())
        return await self._asked(self._skills.get(uri))

    async def read(self, uri: str, size: int = 1) -> bytes:
        return await self._asked(self._skills.read(uri, size))

    async def read_directory(self, uri: str) -> "list[Mapping[str, Any]]":
        if not self._skills.reads_directories:
            told = "the server does not declare that it shows folders"
            raise FindingError(Finding(DIRECTORY_READ, Fault.LIST_SHAPE, told))
        return await self._asked(self._skills.read_directory(uri))

    async def _asked(self, answer: Awaitable[_T]) -> _T:
        try:
            return await answer
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise UnreachableError(
                f"{quoted(self.label)} does not answer: the connection is closed"
            ) from error


def _undeclared() -> Finding:
    """Return why its methods are not called (H1)."""
    return Finding(SKILLS_LIST, Fault.LIST_SHAPE, f"the server does not declare the extension `{EXTENSION}`")
