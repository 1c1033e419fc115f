"""Build the `SKILL.md` of a live skill, and fetch descriptions that clients did not register."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio
import orjson
from anyio.abc import TaskGroup

from skillwire.core.record import Json
from skillwire.drive.hub import Hub, OnlineClient
from skillwire.drive.messages import Answer, Nothing
from skillwire.drive.policy import PathRequest
from skillwire.drive.registration import GET, Descriptor, PathType, first_paragraph
from skillwire.errors import CallFailedError, ContentError
from skillwire.frontmatter.split import UnreadableError, split
from skillwire.frontmatter.writer import write_frontmatter
from skillwire.frontmatter.yaml12 import load
from skillwire.safe_text import quoted

_LISTED_FIELDS = ("name", "description")


class MismatchError(ContentError):
    """The name or description in a program's frontmatter differs from the listed value."""


def minimal_frontmatter(name: str, description: str) -> bytes:
    """Return frontmatter with only a name and a description."""
    return write_frontmatter({"name": name, "description": description}).encode()


def document(name: str, description: str, data: Answer) -> bytes:
    """Return the `SKILL.md` for a program's answer. An answer that is not text becomes a JSON code block.

    The frontmatter contains only `name` and `description`, in place of the frontmatter in the answer. Raises
    `MismatchError` if the answer has a different name or description.
    """
    text = _as_text(data)
    own, body = _parts(text)
    listed = {"name": name, "description": description}
    for field in _LISTED_FIELDS:
        if field in own and own[field] != listed[field]:
            found, expected = quoted(str(own[field])), quoted(listed[field])
            raise MismatchError(
                f"its text has `{field}:` {found}, but it is listed with {expected}; use one value"
            )
    return minimal_frontmatter(name, description) + b"\n" + body.encode()


def description_in(data: Answer) -> str:
    """Return the description in an answer: from its frontmatter, or else its first paragraph, or `""`."""
    own, body = _parts(_as_text(data))
    found = own.get("description")
    return found if isinstance(found, str) and found.strip() else first_paragraph(body)


def _as_text(data: Answer) -> str:
    if isinstance(data, str):
        return data
    if isinstance(data, Nothing):
        return ""
    return f"```json\n{orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()}\n```\n"


def _parts(text: str) -> tuple[dict[str, Json], str]:
    """Split a text into frontmatter fields and body. Without valid frontmatter, all text is the body."""
    content = text.encode()
    try:
        frontmatter = split(content)
        fields = load(frontmatter.text)
    except UnreadableError:
        return {}, text
    return dict(fields.values), content[frontmatter.body :].decode()


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _KnownClient:
    """The fetched descriptions of one client."""

    online: OnlineClient
    descriptions: Mapping[str, str]
    """Descriptions by path. A description that could not be fetched is empty."""


class DescriptionFetcher:
    """Fetches the missing descriptions of skills, for each client one path at a time.

    After a failed call, skips the client's other paths.
    """

    def __init__(self, hub: Hub, on_change: Callable[[], None]) -> None:
        """Fetch from the clients of `hub`. `on_change` is called after each client, also after a failure."""
        self._hub = hub
        self._on_change = on_change
        self._known: dict[str, _KnownClient] = {}
        self._fetching: set[str] = set()
        self._changed = anyio.Event()
        hub.listen(self._wake)

    def description(self, online: OnlineClient, descriptor: Descriptor) -> str | None:
        """Return the description of a path: empty if there is none, None until it has been fetched."""
        if descriptor.description and descriptor.description.strip():
            return descriptor.description
        known = self._known.get(online.info.id)
        return (
            known.descriptions.get(descriptor.path.text)
            if known is not None and known.online is online
            else None
        )

    async def run(self) -> None:
        """Fetch descriptions until cancelled."""
        async with anyio.create_task_group() as tasks:
            while True:
                self._changed = anyio.Event()
                self._start_fetches(tasks)
                await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()

    def _start_fetches(self, tasks: TaskGroup) -> None:
        clients = self._hub.clients
        names = {each.info.id for each in clients}
        self._known = {name: known for name, known in self._known.items() if name in names}
        for each in clients:
            name = each.info.id
            if name in self._fetching or ((known := self._known.get(name)) and known.online is each):
                continue
            if paths := _undescribed(each):
                self._fetching.add(name)
                tasks.start_soon(self._fetch, each, paths)
            else:
                self._known[name] = _KnownClient(each, {})

    async def _fetch(self, online: OnlineClient, paths: list[str]) -> None:
        name, descriptions = online.info.id, dict.fromkeys(paths, "")
        try:
            for path in paths:
                descriptions[path] = await self._description(name, path)
        except CallFailedError:
            pass  # these skills get a problem instead
        finally:
            self._fetching.discard(name)
        self._known[name] = _KnownClient(online, descriptions)
        self._on_change()
        self._wake()  # the client may have registered other paths in the meantime

    async def _description(self, name: str, path: str) -> str:
        """Read a path, and return the description in its text. Raises `CallFailedError`.

        An unexpected exception is logged, and the description is then empty.
        """
        try:
            return description_in(await self._hub.call(name, PathRequest(GET, path), [PathType.SKILL]))
        except CallFailedError:
            raise
        except Exception:  # noqa: BLE001 - a bug in a hook must not affect other skills
            _log.exception("fetching the description of %s from %s failed", quoted(path), quoted(name))
            return ""


def _undescribed(online: OnlineClient) -> list[str]:
    return [
        each.path.text
        for each in online.info.paths
        if each.type is PathType.SKILL
        and not each.path.parameters
        and not (each.description and each.description.strip())
    ]
