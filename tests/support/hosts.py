"""Hosts of scripted servers in this process, and a person who answers their questions."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client

from skillwire import Host, ServerSource, State
from skillwire.host import (
    Answer,
    Approver,
    ConnectedServer,
    ExecutionRequest,
    ForeignReadRequest,
    LoadRequest,
    Request,
)
from tests.support.scripted import ScriptedServer


@dataclass
class Person:
    """Gives the same answer to every question, unless configured otherwise, and records the questions."""

    answer: Answer = Answer.ONCE
    asked: list[Request] = field(default_factory=list[Request])
    meanwhile: Callable[[Request], Awaitable[None]] | None = None
    """What happens while they think."""

    async def __call__(self, request: Request) -> Answer:
        self.asked.append(request)
        if self.meanwhile is not None:
            await self.meanwhile(request)
        return self.answer

    @property
    def loads(self) -> list[LoadRequest]:
        return [each for each in self.asked if isinstance(each, LoadRequest)]

    @property
    def executions(self) -> list[ExecutionRequest]:
        return [each for each in self.asked if isinstance(each, ExecutionRequest)]

    @property
    def foreign_reads(self) -> list[ForeignReadRequest]:
        return [each for each in self.asked if isinstance(each, ForeignReadRequest)]


@asynccontextmanager
async def open_host(
    mode: Any = "auto",
    approve: Approver | None = None,
    state: State | None = None,
    folders: Mapping[str, Path] | None = None,
    limits: Any = None,
    /,
    **servers: ScriptedServer,
) -> AsyncGenerator[Host]:
    """Yield a host that has listed the skills of these servers, each under its label."""
    async with AsyncExitStack() as stack:
        sources: list[ServerSource] = []
        for label, script in servers.items():
            client = await stack.enter_async_context(Client(script.server(), mode=mode))
            server = ConnectedServer(label, client, f"https://{label}.example/mcp", limits=limits)
            sources.append(ServerSource(server))
        host = Host(folders=folders, sources=sources, approve=approve, state=state, limits=limits)
        await stack.enter_async_context(host)
        await host.discover()
        yield host


def honest(*paths: str) -> ScriptedServer:
    """Return a server of these skills, each with one file beside its `SKILL.md`."""
    script = ScriptedServer()
    for path in paths:
        script.publish(path, {"references/guide.md": b"# Guide\n"})
    return script
