"""One connection of a program, from its registration to its end."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from skillwire.drive.carrying import Carrier, LostError, RefusedByServerError
from skillwire.drive.exposing import Exposures
from skillwire.drive.messages import CallClient, Ping, Pong, ping, pong, read_server_message
from skillwire.drive.reading import ShapeError
from skillwire.model.entry import Json


@dataclass(slots=True)
class Conversation:
    """Registers, answers calls, and tells of changes."""

    carrier: Carrier
    exposures: Exposures
    client_id: str
    registration: Callable[[], dict[str, Json]]
    registered: Callable[[], None]
    """Called when the server has taken the registration."""
    _failures: list[LostError | RefusedByServerError] = field(
        default_factory=list[LostError | RefusedByServerError]
    )

    async def run(self) -> None:
        """Talk until the connection ends. Raises `LostError` or `RefusedByServerError`."""
        self.exposures.changed = anyio.Event()
        await self.carrier.send(self.registration())
        # The server acknowledges no registration. But it answers in order: the pong comes after it.
        await self.carrier.send(ping(int(time.time() * 1000)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._guarded, tasks, self._tell)
            await self._guarded(tasks, lambda: self._listen(tasks))
        raise self._failures[0]

    async def _guarded(self, tasks: TaskGroup, work: Callable[[], Awaitable[None]]) -> None:
        """Work until the connection fails; then everything that belongs to it ends."""
        try:
            await work()
        except (LostError, RefusedByServerError) as error:
            self._failures.append(error)
            tasks.cancel_scope.cancel()

    async def _listen(self, tasks: TaskGroup) -> None:
        while True:
            match _understood(await self.carrier.receive()):
                case CallClient() as call:
                    tasks.start_soon(self._guarded, tasks, lambda call=call: self._answer(call))
                case Ping(timestamp):
                    await self.carrier.send(pong(timestamp))
                case Pong():
                    self.registered()

    async def _answer(self, call: CallClient) -> None:
        await self.carrier.send(await self.exposures.result(call))

    async def _tell(self) -> None:
        while True:
            await self.exposures.changed.wait()
            self.exposures.changed = anyio.Event()
            paths = self.exposures.descriptors()
            await self.carrier.send(
                {"type": "updateClientCatalog", "clientId": self.client_id, "paths": paths}
            )


def _understood(value: object) -> CallClient | Ping | Pong:
    try:
        return read_server_message(value)
    except ShapeError as error:
        raise LostError(f"the server said something that is no message: {error}") from error
