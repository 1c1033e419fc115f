"""Links to servers in this process, whose connections a test can count, refuse and cut."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from mcp import Client

from skillwire import Target
from skillwire.errors import UnavailableError
from skillwire.host.servers.link import ServerLink
from skillwire.sources import Limits

NOWHERE = Target("upstream", url="http://127.0.0.1:1/mcp")


class Wire:
    """Leads to a server, as long as it is `up`."""

    def __init__(self, server: Any, mode: Any = "auto") -> None:
        self.server, self.mode = server, mode
        self.up = True
        self.connections = 0
        self._ends: list[Callable[[str], None]] = []

    @asynccontextmanager
    async def connect(self, *, on_message: Any, on_end: Callable[[str], None]) -> AsyncGenerator[Client]:
        self.connections += 1
        if not self.up:
            raise UnavailableError("", "`upstream` does not answer: the wire is cut")
        self._ends.append(on_end)
        async with AsyncExitStack() as stack:
            yield await stack.enter_async_context(
                Client(self.server, mode=self.mode, message_handler=on_message)
            )

    def cut(self) -> None:
        """End every connection that there is. New ones can be made while it is up."""
        for end in self._ends:
            end("")
        self._ends.clear()

    def link(
        self, limits: Limits | None = None, label: str = "upstream", *, drafts: bool = False
    ) -> ServerLink:
        target = Target(label, url=NOWHERE.url)
        return ServerLink(target, drafts=drafts, limits=limits, connect=self.connect)
