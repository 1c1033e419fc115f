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
from skillwire.host.dialects.drafts import DraftsClient, drafts_only
from skillwire.protocol.archive_rules import UnpackedFiles
from skillwire.protocol.claims import DeliveryClaim, SkillClaim
from skillwire.protocol.findings import server_problem
from skillwire.protocol.messages import EXTENSION, SKILLS_GET
from skillwire.safe_text import quoted

_T = TypeVar("_T")


class SkillsTransport(Protocol):
    """Sends requests to one server. A `ServerSource` converts the results to records.

    The methods raise `SkillwireError` or `MCPError`. Only the result of `unpack` is verified.
    """

    @property
    def label(self) -> str: ...

    @property
    def place(self) -> str:
        """The URL or program of the server, for messages to the operator. Never sent to a client."""
        ...

    @property
    def identity(self) -> str | None:
        """Identifies the server behind the label. If it is None, no approval is stored (H28)."""
        ...

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """The extension settings that the server last declared; None if it declared none (H1)."""
        ...

    async def list(self) -> Listing: ...

    async def get(self, uri: str) -> SkillClaim:
        """Return the current version of the skill at `uri`, listed or not (H3, H15)."""
        ...

    async def read(self, uri: str, size: int | None = None) -> bytes: ...

    async def list_folder(self, uri: str) -> "list[str]":
        """Return the URIs of the direct children of a folder, as far as the server shows them."""
        ...

    async def complete(self, uri_template: str, parameter: str, typed: str) -> "list[str]":
        """Return the values that the server suggests for a parameter of a template, to show to people."""
        ...

    def refill(self) -> None:
        """Reset the number of bytes that may be read. Each listing does this, too (H25)."""
        ...

    async def unpack(self, skill: SkillClaim, archive: DeliveryClaim) -> UnpackedFiles:
        """Return all files in an archive of a skill, verified against its digest."""
        ...

    def wait_for_changes(self, every: float | None = None) -> AsyncGenerator[None]:
        """Yield whenever skills may have changed. With `every`, also yield after about that many seconds."""
        ...


class ConnectedServer:
    """A server to which your program is already connected, through an open client of the SDK."""

    def __init__(
        self,
        label: str,
        client: Client,
        identity: str | None = None,
        *,
        drafts: bool = False,
        limits: Limits | None = None,
    ) -> None:
        """Wrap an open client. `identity` identifies the server, for example by its URL.

        If `identity` is None, no approval is stored (H28). With `drafts`, the server may use earlier drafts
        of the extension.
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
        """Yield every `every` seconds, or never if `every` is None.

        Notifications from the server are delivered to the owner of the client.
        """
        while every is not None:
            await anyio.sleep(every)
            yield

    async def list(self) -> Listing:
        """Return the listed skills; without `drafts`, none if the extension is not declared (H1)."""
        self._client.refill()  # each listing has a new budget
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

    async def list_folder(self, uri: str) -> "list[str]":
        return await self._call(self._skills.list_folder(uri))

    async def complete(self, uri_template: str, parameter: str, typed: str) -> "list[str]":
        return await self._call(self._skills.complete(uri_template, parameter, typed))

    def refill(self) -> None:
        self._client.refill()

    async def unpack(self, skill: SkillClaim, archive: DeliveryClaim) -> UnpackedFiles:
        return await self._call(drafts_only(self._skills, archive).unpack(skill, archive))

    async def _call(self, answer: Awaitable[_T]) -> _T:
        try:
            return await answer
        except (anyio.ClosedResourceError, anyio.BrokenResourceError) as error:
            raise UnavailableError(
                "", f"{quoted(self.label)} does not answer: the connection is closed"
            ) from error
