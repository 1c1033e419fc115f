"""Bridges in this process: servers of skills on one side, a client on the other."""

from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from skillwire import Library, Problem, ServeOptions, State
from skillwire.host.bridge import bridge_library
from skillwire.host.session.model_text import bridged_text
from skillwire.library import Change
from skillwire.protocol.claims import SkillClaim
from skillwire.server import Channel, skills_server
from skillwire.sources import Rule
from tests.support.links import Wire
from tests.support.peers import PATIENCE


@dataclass
class Bridge:
    """A bridge that is followed, and the server that it is."""

    library: Library
    options: ServeOptions
    state: State | None

    def __post_init__(self) -> None:
        self._changed = anyio.Event()
        self.library.listen(self._note)
        self.server: Any = self.another_server()

    def _note(self, _change: Change) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    def another_server(self) -> Any:
        """Return a server of the same library, for a client that comes while others are there."""
        return skills_server(self.library, options=self.options)

    @property
    def withheld(self) -> list[dict[str, Any]]:
        """What is told of each withheld skill."""
        catalog = self.library.catalog
        return [catalog.withheld_report(each) for each in catalog.withheld]

    def problems(self, rule: Rule) -> list[Problem]:
        return [each for each in self.library.catalog.problems if each.rule is rule]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the catalog is as it should be."""
        with anyio.fail_after(PATIENCE):
            while not condition():
                await self._changed.wait()

    async def until_offered(self, *uris: str) -> None:
        """Wait until exactly these are approved."""
        await self.until(lambda: self.offered == set(uris))

    @property
    def offered(self) -> set[str]:
        catalog = self.library.catalog
        return {uri for uri, entry in catalog.entries.items() if not catalog.visibility.withholds(entry)}

    def approve(self, label: str, skill: SkillClaim) -> None:
        """Say yes, as another program does that a person runs."""
        assert self.state is not None
        with State.open(self.state.folder) as elsewhere:
            elsewhere.bind(label, "http://127.0.0.1:1/mcp")
            elsewhere.approvals.approve(label, skill)

    def revoke(self, label: str, uri: str) -> None:
        assert self.state is not None
        with State.open(self.state.folder) as elsewhere:
            elsewhere.bind(label, "http://127.0.0.1:1/mcp")
            elsewhere.approvals.revoke(label, uri)


@asynccontextmanager
async def open_bridge(
    wires: dict[str, Wire],
    state: State | None = None,
    trusted: Collection[str] = (),
    channel: Channel = Channel.INSTRUCTIONS,
    *,
    drafts: bool = False,
) -> AsyncGenerator[Bridge]:
    """Yield a bridge in front of these servers, by their labels."""
    async with AsyncExitStack() as stack:
        made = [wire.link(label=label, drafts=drafts) for label, wire in wires.items()]
        links = [await stack.enter_async_context(link) for link in made]
        library = await bridge_library(links, state, trusted)
        await library.load()
        options = ServeOptions(channel, frame=bridged_text)
        yield Bridge(library, options, state)
