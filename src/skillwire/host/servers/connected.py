"""The interface for requests to one server, and its implementation on a client that your program opened."""

from collections.abc import AsyncGenerator, Awaitable, Mapping
from typing import Any, Protocol, TypeVar

import anyio
from mcp import Client

from skillwire.core.problem import Rule
from skillwire.core.record import Limits
from skillwire.errors import UnavailableError, VerificationError
from skillwire.host.connections.labels import validate_label
from skillwire.host.dialects.client import Listing, SkillsClient
from skillwire.host.dialects.drafts import DraftsClient
from skillwire.protocol.findings import server_problem
from skillwire.protocol.messages import DIRECTORY_READ, EXTENSION, SKILLS_GET
from skillwire.protocol.remote import SkillClaim
from skillwire.safe_text import quoted

_T = TypeVar("_T")


class SkillsTransport(Protocol):
    """Sends requests to one server. A `ServerSource` turns the answers into records.

    Its methods raise `SkillwireError` or `MCPError`. What they return is not verified.
    """

    @property
    def label(self) -> str: ...

    @property
    def place(self) -> str:
        """The URL or program of the server, for messages to the operator. Never sent to a client."""
        ...

    @property
    def identity(self) -> str | None:
        """The server that the label points at. Without it, no approval is stored (H28)."""
        ...

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """The settings of the extension that the server declared when last reached; None if none (H1)."""
        ...

    async def list(self) -> Listing: ...

    async def get(self, uri: str) -> SkillClaim:
        """Return the current version of the skill at `uri`, listed or not (H3, H15)."""
        ...

    async def read(self, uri: str, size: int | None = None) -> bytes: ...

    async def read_directory(self, uri: str) -> "list[Mapping[str, Any]]": ...

    def wait_for_changes(self, every: float | None = None) -> AsyncGenerator[None]:
        """Yield whenever skills may have changed, and at the latest after `every` seconds."""
        ...


class ConnectedServer:
    """A server that your program is connected to, through an open client of the SDK."""

    def __init__(
        self,
        label: str,
        client: Client,
        identity: str | None = None,
        *,
        drafts: bool = False,
        limits: Limits | None = None,
    ) -> None:
        """`identity` identifies the server, such as by its URL. Without it, no approval is stored (H28).

        With `drafts`, the server may use earlier drafts of the extension.
        """
        self.label = validate_label(label)
        self.identity = identity
        self._client = SkillsClient(client, limits, legacy_flags=drafts)
        self._skills = DraftsClient(self._client) if drafts else self._client

    @property
    def place(self) -> str:
        return self.identity or self.label

    @property
    def declared(self) -> Mapping[str, Any] | None:
        return self._client.declared

    async def wait_for_changes(self, every: float | None = None) -> AsyncGenerator[None]:
        """Yield every `every` seconds. Notifications of the server go to the owner of the client."""
        while every is not None:
            await anyio.sleep(every)
            yield

    async def list(self) -> Listing:
        """Return the listed skills. The list is empty if the server does not declare the extension (H1)."""
        self._client.refill()  # each listing has its own budget
        if self.declared is None and isinstance(self._skills, SkillsClient):
            return Listing()
        return await self._call(self._skills.list())

    async def get(self, uri: str) -> SkillClaim:
        if self.declared is None and isinstance(self._skills, SkillsClient):
            message = f"the server does not declare the extension `{EXTENSION}`"
            raise VerificationError("", server_problem(SKILLS_GET, Rule.LIST_SHAPE, message))
        return await self._call(self._skills.get(uri))

    async def read(self, uri: str, size: int | None = None) -> bytes:
        return await self._call(self._skills.read(uri, size))

    async def read_directory(self, uri: str) -> "list[Mapping[str, Any]]":
        if not self._skills.reads_directories:
            message = f"the server does not declare `{DIRECTORY_READ}`"
            raise VerificationError("", server_problem(uri, Rule.LIST_SHAPE, message))
        return await self._call(self._skills.read_directory(uri))

    async def _call(self, answer: Awaitable[_T]) -> _T:
        try:
            return await answer
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise UnavailableError(
                "", f"{quoted(self.label)} does not answer: the connection is closed"
            ) from error
