"""Descriptions that clients did not send: made from the text, once, without holding anybody up."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup

from skillwire.drive.documents import description_in
from skillwire.drive.errors import CallFailedError
from skillwire.drive.hooks import Request
from skillwire.drive.hub import Hub, Online
from skillwire.drive.registration import GET, Descriptor, PathType
from skillwire.model.display import quoted

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one client as it is now."""

    online: Online
    told: Mapping[str, str]
    """Descriptions by path; an empty one where there is none to be had."""


class Introductions:
    """Asks each client for its texts, one after the other. One that does not answer is asked no more."""

    def __init__(self, hub: Hub, learned: Callable[[], None]) -> None:
        """`learned` is called when something is known that was not."""
        self._hub = hub
        self._learned = learned
        self._known: dict[str, _Known] = {}
        self._asking: set[str] = set()
        self._changed = anyio.Event()
        hub.listen(self._look)

    def description(self, online: Online, descriptor: Descriptor) -> str | None:
        """Return the description of a path: empty if there is none to be had, None while it is asked for."""
        if descriptor.description and descriptor.description.strip():
            return descriptor.description
        known = self._known.get(online.info.id)
        return known.told.get(descriptor.path.text) if known is not None and known.online is online else None

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
        clients = self._hub.clients
        names = {each.info.id for each in clients}
        self._known = {name: known for name, known in self._known.items() if name in names}
        for each in clients:
            name = each.info.id
            if name in self._asking or ((known := self._known.get(name)) and known.online is each):
                continue
            if wanted := _undescribed(each):
                self._asking.add(name)
                tasks.start_soon(self._ask, each, wanted)
            else:
                self._known[name] = _Known(each, {})

    async def _ask(self, online: Online, paths: list[str]) -> None:
        name, told = online.info.id, dict.fromkeys(paths, "")
        try:
            for path in paths:
                told[path] = await self._description(name, path)
        except CallFailedError:
            pass  # then these skills have none, and a problem says so
        finally:
            self._asking.discard(name)
        self._known[name] = _Known(online, told)
        self._learned()
        self._look()  # it may have registered other paths meanwhile

    async def _description(self, name: str, path: str) -> str:
        """Return what the text of a path says of it. Raises `CallFailedError`."""
        try:
            return description_in(await self._hub.call(name, Request(GET, path), [PathType.SKILL]))
        except CallFailedError:
            raise
        except Exception:  # noqa: BLE001 - a bug in a hook, or an odd text: the other skills stay
            _log.exception("no description for %s of %s", quoted(path), quoted(name))
            return ""


def _undescribed(online: Online) -> list[str]:
    return [
        each.path.text
        for each in online.info.paths
        if each.type is PathType.SKILL
        and not each.path.parameters
        and not (each.description and each.description.strip())
    ]
