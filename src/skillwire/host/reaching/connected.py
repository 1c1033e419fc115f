"""A server to which somebody else holds the connection, as a place that skills come from."""

from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

import anyio
from mcp import Client

from skillwire.host.dialects.client import DraftsClient
from skillwire.host.reaching.client import Listing, SkillsClient
from skillwire.host.reaching.connecting import UnreachableError
from skillwire.host.reaching.label import checked_label
from skillwire.model.display import quoted
from skillwire.model.limits import Limits
from skillwire.wire.findings import Fault, Finding, FindingError
from skillwire.wire.messages import DIRECTORY_READ, EXTENSION, SKILLS_GET
from skillwire.wire.remote import RemoteSkill

_T = TypeVar("_T")


class ConnectedServer:
    """A server that your program is connected to, through an open client of the SDK."""

    local = False

    def __init__(
        self,
        label: str,
        client: Client,
        identity: str | None = None,
        *,
        drafts: bool = False,
        limits: Limits | None = None,
    ) -> None:
        """`identity` is what the label stands for, such as a URL: without it, no approval is kept (H28).

        With `drafts`, the server may speak dialects from before the extension.
        """
        self.label = checked_label(label)
        self.identity = identity
        self._client = SkillsClient(client, limits, old_flags=drafts)
        self._skills = DraftsClient(self._client) if drafts else self._client

    @property
    def declared(self) -> Mapping[str, Any] | None:
        return self._client.declared

    async def list(self) -> Listing:
        """Return what it lists: nothing, if it does not declare that it has skills (H1)."""
        self._client.refill()  # another listing, another budget
        if self.declared is None and isinstance(self._skills, SkillsClient):
            return Listing()
        return await self._asked(self._skills.list())

    async def get(self, uri: str) -> RemoteSkill:
        if self.declared is None and isinstance(self._skills, SkillsClient):
            told = f"the server does not declare the extension `{EXTENSION}`"
            raise FindingError(Finding(SKILLS_GET, Fault.LIST_SHAPE, told))
        return await self._asked(self._skills.get(uri))

    async def read(self, uri: str, size: int | None = None) -> bytes:
        return await self._asked(self._skills.read(uri, size))

    async def read_directory(self, uri: str) -> "list[Mapping[str, Any]]":
        if not self._skills.reads_directories:
            told = f"the server does not declare `{DIRECTORY_READ}`"
            raise FindingError(Finding(uri, Fault.LIST_SHAPE, told))
        return await self._asked(self._skills.read_directory(uri))

    async def _asked(self, answer: Awaitable[_T]) -> _T:
        try:
            return await answer
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise UnreachableError(
                f"{quoted(self.label)} does not answer: the connection is closed"
            ) from error
