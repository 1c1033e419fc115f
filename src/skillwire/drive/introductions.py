"""Descriptions that clients did not send: made from the text, once, without holding anybody up."""

from collections.abc import Callable
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from skillwire.drive.documents import description_in
from skillwire.drive.errors import CallFailedError
from skillwire.drive.hooks import Request
from skillwire.drive.hub import Hub, Online
from skillwire.drive.registration import GET, Descriptor, PathType


@dataclass(slots=True)
class _Client:
    """What is known of one client, as of one revision of it."""

    revision: int
    told: dict[str, str]
    """Descriptions by path; an empty one where there is none to be had."""


class Introductions:
    """Asks each client for its texts, one after the other. One that does not answer is asked no more."""

    def __init__(self, hub: Hub, learned: Callable[[], None]) -> None:
        """`learned` is called when something is known that was not."""
        self._hub = hub
        self._learned = learned
        self._clients: dict[str, _Client] = {}
        self._asking: set[str] = set()
        self._changed = anyio.Event()
        hub.listen(self._look)

    def description(self, online: Online, descriptor: Descriptor) -> str | None:
        """Return the description of a path: empty if there is none to be had, None while it is asked for."""
        if descriptor.description and descriptor.description.strip():
            return descriptor.description
        client = self._clients.get(online.info.id)
        if client is None or client.revision != online.revision:
            return None
        return client.told.get(descriptor.path.text)

    async def run(self) -> None:
        """Ask until cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                self._changed = anyio.Event()
                self._begin(tasks)
                await self._changed.wait()

    def _look(self) -> None:
        self._changed.set()

    def _begin(self, tasks: TaskGroup) -> None:
        online = {each.info.id: each for each in self._hub.clients}
        self._clients = {name: known for name, known in self._clients.items() if name in online}
        for name, each in online.items():
            known = self._clients.get(name)
            asked = name in self._asking or (known is not None and known.revision == each.revision)
            if not asked and (wanted := _undescribed(each)):
                self._asking.add(name)
                tasks.start_soon(self._ask, each, wanted)

    async def _ask(self, online: Online, paths: list[str]) -> None:
        name, told = online.info.id, dict.fromkeys(paths, "")
        try:
            for path in paths:
                told[path] = description_in(await self._hub.call(name, Request(GET, path), [PathType.SKILL]))
        except CallFailedError:
            pass  # then these skills have none, and a problem says so
        finally:
            self._asking.discard(name)
        self._clients[name] = _Client(online.revision, told)
        self._learned()
        self._look()  # it may have registered other paths meanwhile


def _undescribed(online: Online) -> list[str]:
    return [
        each.path.text
        for each in online.info.paths
        if each.type is PathType.SKILL
        and not each.path.parameters
        and not (each.description and each.description.strip())
    ]
