"""Call an author's function for a text, within limits, and check it against the listing."""

import asyncio
import inspect
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import anyio
import anyio.from_thread
import anyio.lowlevel

from skillwire.authoring.live import LiveSkill, SkillRequest, Text
from skillwire.authoring.rules import accepts_arguments
from skillwire.core.json_text import json_equal
from skillwire.core.problem import Rule
from skillwire.core.record import Json, Limits
from skillwire.core.template import Suggest
from skillwire.errors import NotServedError, SourceError
from skillwire.frontmatter.document import read_document
from skillwire.frontmatter.writer import write_frontmatter
from skillwire.safe_text import quoted

MAX_THREADS = 64
"""Functions that run at once. A function that never ends keeps one of these places for ever."""


@dataclass(slots=True)
class _Outcome:
    done: anyio.Event = field(default_factory=anyio.Event)
    value: Any = None
    error: BaseException | None = None


class FunctionThreads:
    """Runs functions beside the event loop. Not where the transports have their threads: those never wait."""

    def __init__(self, most: int = MAX_THREADS) -> None:
        self._free = threading.Semaphore(most)
        self._gone: set[anyio.Event] = set()

    async def run(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns, or raise what it raises. If we are cancelled, it is left alone."""
        while not self._free.acquire(blocking=False):
            await self._wait_for_slot()
        outcome, token = _Outcome(), anyio.lowlevel.current_token()

        def work() -> None:
            try:
                outcome.value = function()
            except BaseException as error:  # noqa: BLE001 - whoever waits for it decides
                outcome.error = error
            finally:
                self._free.release()
                with suppress(anyio.RunFinishedError):  # nobody waits any more
                    anyio.from_thread.run_sync(self._notify, outcome.done, token=token)

        # A daemon: a function that does not end must not keep the program from ending.
        threading.Thread(target=work, daemon=True, name="skillwire-resolver").start()
        await outcome.done.wait()
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    async def _wait_for_slot(self) -> None:
        """Wait until some function has ended."""
        gone = anyio.Event()
        self._gone.add(gone)
        try:
            await gone.wait()
        finally:
            self._gone.discard(gone)

    def _notify(self, done: anyio.Event) -> None:
        done.set()
        for waiting in tuple(self._gone):
            waiting.set()


_log = logging.getLogger(__name__)

_THREADS = FunctionThreads()


async def resolve(
    skill: LiveSkill, request: SkillRequest, listed: Mapping[str, Json], limits: Limits
) -> bytes:
    """Return the `SKILL.md` that the function of `skill` makes, with the frontmatter that was listed.

    Raises `SourceError` where the function fails, takes too long or says something else than the listing,
    and `NotServedError` where it says that there is no such skill.
    """
    with anyio.move_on_after(skill.timeout) as bound:
        made = await _call_resolver(skill, request)
        return _document(_as_bytes(made, request), request, listed, limits)
    assert bound.cancelled_caught, "nothing else ends it early"
    raise SourceError(f"the text of {quoted(request.uri)} was not made within {skill.timeout:g} s")


async def _call_resolver(skill: LiveSkill, request: SkillRequest) -> object:
    """Return what the author's function returns. Whatever it raises is its own trouble, and nobody else's."""
    try:
        return await (
            _call(skill.resolver, request) if accepts_arguments(skill.resolver, 1) else _call(skill.resolver)
        )
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise  # we are cancelled, and not something that the function waited for
        raise _resolver_error(request) from error
    except (Exception, SystemExit) as error:
        raise _resolver_error(request) from error


def _resolver_error(request: SkillRequest) -> SourceError:
    _log.exception("the function that makes %s failed", quoted(request.uri))
    return SourceError(f"the function that makes {quoted(request.uri)} failed; the server's log says more")


def make_suggester(values: Callable[[str], object]) -> Suggest:
    """Return the function behind a parameter, made safe to ask."""

    async def suggest(typed: str) -> Sequence[str]:
        try:
            with anyio.fail_after(5):
                return list(await _call(values, typed))
        except Exception:  # noqa: BLE001 - somebody's code: without it, there are no suggestions
            _log.exception("the function that completes a parameter failed")
            return ()

    return suggest


async def _call(function: Callable[..., Any], *arguments: object) -> Any:
    """Call a function of either kind. A plain one runs in a thread, and is left alone there if it is late."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    made = await _THREADS.run(partial(function, *arguments))
    return await made if inspect.isawaitable(made) else made


def _as_bytes(made: object, request: SkillRequest) -> bytes:
    text = cast("Text", made)
    match text:
        case None if request.params:
            raise NotServedError(request.uri, "skill")
        case str():
            try:
                return text.encode()
            except UnicodeEncodeError as error:
                raise SourceError(f"the text of {quoted(request.uri)} holds half a character") from error
        case bytes():
            return text
        case _:
            kind = type(made).__name__
            raise SourceError(f"the function that makes {quoted(request.uri)} returned {kind}, and no text")


def _document(made: bytes, request: SkillRequest, listed: Mapping[str, Json], limits: Limits) -> bytes:
    """Return `made` with its frontmatter. A host refuses one that is not what was listed (H13)."""
    if len(made) > limits.bytes:
        raise SourceError(
            f"the text of {quoted(request.uri)} has {len(made):,} bytes; the limit is {limits.bytes:,}"
        )
    document = read_document(made, request.uri, None)
    if document.frontmatter is None:
        if document.problems[0].rule is Rule.FRONTMATTER_MISSING:
            return write_frontmatter(listed).encode() + b"\n" + made
        raise SourceError(
            f"the frontmatter of {quoted(request.uri)} cannot be read: {document.problems[0].message}"
        )
    found = document.frontmatter
    if not json_equal(dict(found), dict(listed)):
        missing = found.keys() ^ listed.keys()
        fields = sorted(
            missing | {key for key in found.keys() & listed.keys() if not json_equal(found[key], listed[key])}
        )
        differing = ", ".join(fields)
        raise SourceError(f"the text of {quoted(request.uri)} has another {differing} than the listing")
    return made
