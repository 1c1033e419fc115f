"""Many simulated programs that offer live skills, each on its own WebSocket."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

SKILLS_EACH = 10
_AT_ONCE = 50
"""Programs that connect at the same time. More would only overload the machine."""


class Crowd:
    """Connected programs. All but the mute ones answer calls."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._tasks: list[asyncio.Task[None]] = []
        self._connections: list[ClientConnection] = []
        self._asked = 0
        self._asked_enough = asyncio.Event()

    async def join(self, names: list[str], *, mute: bool = False) -> None:
        """Connect programs with these names. Return when the server has accepted all of them."""
        few = asyncio.Semaphore(_AT_ONCE)

        async def one(name: str) -> None:
            async with few:
                await self._join(name, mute=mute)

        await asyncio.gather(*map(one, names))

    async def until_mute_ones_are_asked(self, times: int) -> None:
        """Wait until the mute programs have received `times` calls."""
        while self._asked < times:
            self._asked_enough = asyncio.Event()
            await self._asked_enough.wait()

    async def leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*(connection.close() for connection in self._connections))

    async def _join(self, name: str, *, mute: bool) -> None:
        connection = await connect(self._url, proxy=None, compression=None)
        self._connections.append(connection)
        paths = [
            {"type": "skill", "path": f"/state/part-{at}/skill.md", "description": f"Part {at} of {name}."}
            for at in range(SKILLS_EACH)
        ]
        client = {"id": name, "name": name.title(), "paths": paths}
        await connection.send(json.dumps({"type": "registerClient", "client": client}))
        await connection.send(json.dumps({"type": "ping", "timestamp": 1}))
        while json.loads(await connection.recv())["type"] != "pong":
            pass
        self._tasks.append(asyncio.create_task(self._answer(connection, mute=mute)))

    async def _answer(self, connection: ClientConnection, *, mute: bool) -> None:
        try:
            async for frame in connection:
                message = json.loads(frame)
                if message["type"] == "ping":
                    await connection.send(json.dumps({"type": "pong", "timestamp": message["timestamp"]}))
                elif mute:
                    self._asked += 1
                    self._asked_enough.set()
                else:
                    result = {"requestId": message["requestId"], "ok": True, "data": f"# {message['path']}\n"}
                    await connection.send(json.dumps({"type": "callClientResult", **result}))
        except ConnectionClosed:
            return


@asynccontextmanager
async def crowd(url: str) -> AsyncGenerator[Crowd]:
    """Yield a crowd without programs yet. Disconnect all programs at the end."""
    programs = Crowd(url)
    try:
        yield programs
    finally:
        await programs.leave()
