"""A server with live skills on loopback, and clients that send exactly what a test specifies."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from skillwire import Library, ServeOptions
from skillwire.drive import DriveLimits, Hooks, LiveSkills, bridge_tools, drive_mount
from skillwire.drive.hub import Hub
from skillwire.server import Address, HostPolicy, http_app, listen, skills_server
from skillwire.server.http.app import GracefulServer
from skillwire.server.http.connections import HttpLimits
from tests.support.peers import PATIENCE


@dataclass(frozen=True)
class Drive:
    """A server that runs in this process, on a port of its own."""

    hub: Hub
    library: Library
    authority: str
    http: httpx2.AsyncClient
    token: str | None = None

    @property
    def base(self) -> str:
        return f"http://{self.authority}"

    @property
    def mcp(self) -> str:
        return f"{self.base}/mcp"

    @property
    def socket(self) -> str:
        return f"ws://{self.authority}"

    async def get(self, path: str, **more: Any) -> httpx2.Response:
        return await self.http.get(path, **more)

    async def until(self, condition: Callable[[], bool], waiting_for: str = "") -> None:
        """Wait until the hub is as a test wants it."""
        with anyio.move_on_after(PATIENCE):
            while not condition():
                changed = anyio.Event()
                self.hub.listen(changed.set)
                if condition():
                    return
                await changed.wait()
            return
        raise AssertionError(f"waited in vain for {waiting_for or condition}")

    async def until_library(self, condition: Callable[[], bool], waiting_for: str = "") -> None:
        """Wait until the catalog is as a test wants it."""
        changed = anyio.Event()
        self.library.listen(lambda _: changed.set())
        with anyio.move_on_after(PATIENCE):
            while not condition():
                await changed.wait()
                changed = anyio.Event()
            return
        raise AssertionError(f"waited in vain for {waiting_for or condition}")

    async def until_online(self, *ids: str) -> None:
        await self.until(lambda: {each.info.id for each in self.hub.clients} == set(ids), f"{ids}")


@asynccontextmanager
async def drive_server(
    *,
    limits: DriveLimits | None = None,
    hooks: Hooks | None = None,
    token: str | None = None,
    origins: frozenset[str] = frozenset(),
    port: int = 0,
    headers: Sequence[str] | None = None,
    http_limits: HttpLimits | None = None,
) -> AsyncGenerator[Drive]:
    """Yield a server with live skills and nothing else."""
    live = LiveSkills(limits, hooks, headers)
    hub = live.hub
    library = Library([live.source()])
    await library.load()
    mount = drive_mount(live, token)
    options = ServeOptions(tools=bridge_tools(hub))
    listening, bound = listen(Address("127.0.0.1", port))
    policy = HostPolicy(bound, origins=origins)
    app = http_app(skills_server(library, options=options), policy, token, mount, limits=http_limits)
    ready, ended = anyio.Event(), anyio.Event()
    serving = GracefulServer(app, mount, ready.set)

    async def serve() -> None:
        await serving.serve(sockets=[listening])
        ended.set()

    shown = {} if token is None else {"authorization": f"Bearer {token}"}
    async with (
        anyio.create_task_group() as tasks,
        httpx2.AsyncClient(
            base_url=f"http://{bound.authority}", headers=shown, timeout=PATIENCE, trust_env=False
        ) as http,
    ):
        tasks.start_soon(serve)
        with anyio.fail_after(PATIENCE):
            await ready.wait()
        try:
            yield Drive(hub, library, bound.authority, http, token)
        finally:
            app.close()
            hub.close()
            serving.stop()
            with anyio.CancelScope(shield=True), anyio.move_on_after(PATIENCE):
                await ended.wait()
            tasks.cancel_scope.cancel()


Answers = Callable[[dict[str, Any]], dict[str, Any] | None]
"""From a call to the rest of its result; None for a client that does not answer."""


@dataclass
class Program:
    """A client on a bare WebSocket."""

    connection: ClientConnection
    answers: Answers
    mute: bool = False
    """Whether it leaves pings unanswered."""
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    called: anyio.Event = field(default_factory=anyio.Event)
    heard: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def say(self, message: Mapping[str, Any]) -> None:
        await self.connection.send(json.dumps(message))

    async def until_called(self, times: int = 1) -> None:
        """Wait until it has been called so often."""
        with anyio.fail_after(PATIENCE):
            while len(self.calls) < times:
                self.called = anyio.Event()
                await self.called.wait()

    async def answer_calls(self) -> None:
        try:
            async for frame in self.connection:
                message = json.loads(frame)
                self.heard.append(message)
                if message["type"] == "callClient":
                    self.calls.append(message)
                    self.called.set()
                    if (result := self.answers(message)) is not None:
                        await self.say(
                            {"type": "callClientResult", "requestId": message["requestId"], **result}
                        )
                elif message["type"] == "ping" and not self.mute:
                    await self.say({"type": "pong", "timestamp": message["timestamp"]})
        except ConnectionClosed:
            return


def skills(*paths: str, **more: Any) -> list[dict[str, Any]]:
    """Return descriptors of skills at these paths."""
    return [{"type": "skill", "path": path, "description": f"At {path}.", **more} for path in paths]


def registration(client_id: str, paths: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "type": "registerClient",
        "client": {"id": client_id, "name": client_id.title(), "paths": paths},
        **more,
    }


def echo(call: dict[str, Any]) -> dict[str, Any]:
    """Answer with the path that was asked for."""
    return {"ok": True, "data": f"# {call['path']}"}


def silent(_call: dict[str, Any]) -> None:
    """Never answer."""


@asynccontextmanager
async def program(
    drive: Drive, message: Mapping[str, Any], answers: Answers = echo, *, mute: bool = False, **more: Any
) -> AsyncGenerator[Program]:
    """Yield a client that has said `message`, and answers calls meanwhile."""
    if drive.token is not None:
        more = {"additional_headers": {"authorization": f"Bearer {drive.token}"}, **more}
    async with (
        connect(drive.socket, proxy=None, **more) as connection,
        anyio.create_task_group() as tasks,
    ):
        client = Program(connection, answers, mute)
        await client.say(message)
        tasks.start_soon(client.answer_calls)
        name = message["client"]["id"]
        await drive.until(lambda: any(each.info.id == name for each in drive.hub.clients), name)
        yield client
        tasks.cancel_scope.cancel()


async def ending(connection: ClientConnection) -> tuple[int, str]:
    """Return how the server ends a connection."""
    with anyio.fail_after(PATIENCE):
        await connection.wait_closed()
    assert connection.close_code is not None
    return connection.close_code, connection.close_reason or ""
