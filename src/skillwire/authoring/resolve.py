"""Call the functions of live skills with a time limit: for the text of a skill, and for suggested values."""

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
from skillwire.errors import NotFoundError, NotServedError, SourceError
from skillwire.frontmatter.document import read_document
from skillwire.frontmatter.writer import write_frontmatter
from skillwire.safe_text import escape_invisible, quoted

MAX_THREADS = 64
"""Maximum number of sync functions that run at the same time.

A function that never returns occupies a thread forever.
"""


@dataclass(slots=True)
class _Outcome:
    """The result of a function that runs in a thread."""

    done: anyio.Event = field(default_factory=anyio.Event)
    value: Any = None
    error: BaseException | None = None


class FunctionThreads:
    """Runs functions in threads of its own, so that slow functions never delay the transports."""

    def __init__(self, max_threads: int = MAX_THREADS) -> None:
        self._free = threading.Semaphore(max_threads)
        self._waiting: set[anyio.Event] = set()

    async def run(self, function: Callable[[], Any]) -> Any:
        """Call a function in a thread. Return its result or raise its error.

        Cancellation does not stop the function.
        """
        while not self._free.acquire(blocking=False):
            await self._wait_for_slot()
        outcome, token = _Outcome(), anyio.lowlevel.current_token()

        def work() -> None:
            try:
                outcome.value = function()
            except BaseException as error:  # noqa: BLE001 - raised again where the result is awaited
                outcome.error = error
            finally:
                self._free.release()
                with suppress(anyio.RunFinishedError):  # the event loop has ended
                    anyio.from_thread.run_sync(self._notify, outcome.done, token=token)

        # A daemon thread, so that a function that never returns does not keep the program running.
        threading.Thread(target=work, daemon=True, name="skillwire-resolver").start()
        await outcome.done.wait()
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    async def _wait_for_slot(self) -> None:
        """Wait until one of the running functions has returned."""
        ended = anyio.Event()
        self._waiting.add(ended)
        try:
            await ended.wait()
        finally:
            self._waiting.discard(ended)

    def _notify(self, done: anyio.Event) -> None:
        done.set()
        for ended in tuple(self._waiting):
            ended.set()


_log = logging.getLogger(__name__)

_THREADS = FunctionThreads()


async def resolve(
    skill: LiveSkill,
    request: SkillRequest,
    listed: Mapping[str, Json],
    limits: Limits,
    warned: set[str],
) -> bytes:
    """Return the `SKILL.md` that the function of `skill` generates, with the `listed` frontmatter.

    Raises `SourceError` if the function fails, takes too long or returns no text, or if the text is too large
    or has a different frontmatter. Raises `NotServedError` if the function raises `NotFoundError`, or if the
    path has parameters and the function returns None, which means that no skill has these values. If the
    function returns no text, logs a warning, unless its path is in `warned`.
    """
    with anyio.move_on_after(skill.timeout) as scope:
        made = await _call_resolver(skill, request)
        if not isinstance(made, (str, bytes)) and not (made is None and request.params):
            _warn_of_wrong_type(skill.path, made, warned)
        return _document(_as_bytes(made, request), request, listed, limits)
    assert scope.cancelled_caught, "only the timeout ends it without a result"
    raise SourceError(f"the text of {quoted(request.uri)} was not made within {skill.timeout:g} s")


async def _call_resolver(skill: LiveSkill, request: SkillRequest) -> object:
    """Call the author's function and return its result.

    Raises `NotServedError` if the function raises `NotFoundError`, and `SourceError` for other exceptions.
    """
    try:
        return await (
            _call(skill.resolver, request) if accepts_arguments(skill.resolver, 1) else _call(skill.resolver)
        )
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise  # this task was cancelled, not something that the function awaited
        raise _resolver_error(request) from error
    except NotFoundError as error:
        raise NotServedError(request.uri, "skill", escape_invisible(str(error))) from error
    except (Exception, SystemExit) as error:
        raise _resolver_error(request) from error


def _warn_of_wrong_type(path: str, made: object, warned: set[str]) -> None:
    """Log a warning about a function that returned no text, once for its path."""
    if path not in warned:
        warned.add(path)
        message = "the function that makes %s returned %s, so it cannot be read; return Markdown, or raise %s"
        _log.warning(message, quoted(path), type(made).__name__, "`skillwire.errors.NotFoundError`")


def _resolver_error(request: SkillRequest) -> SourceError:
    """Log the current exception. Return an error without its details, because clients see it."""
    _log.exception("the function that makes %s failed", quoted(request.uri))
    return SourceError(f"the function that makes {quoted(request.uri)} failed; see the server's log")


def make_suggester(values: Callable[[str], object]) -> Suggest:
    """Return a function that suggests values of a parameter.

    The function returns no values if `values` fails or takes more than 5 seconds.
    """

    async def suggest(typed: str) -> Sequence[str]:
        try:
            with anyio.fail_after(5):
                return list(await _call(values, typed))
        except Exception:  # noqa: BLE001 - the author's code: if it fails, there are no suggestions
            _log.exception("the function that completes a parameter failed")
            return ()

    return suggest


async def _call(function: Callable[..., Any], *arguments: object) -> Any:
    """Call a sync or async function.

    A sync function runs in a thread and keeps running there after a timeout.
    """
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    made = await _THREADS.run(partial(function, *arguments))
    return await made if inspect.isawaitable(made) else made


def _as_bytes(made: object, request: SkillRequest) -> bytes:
    """Return the text from the author's function as bytes.

    Raises `NotServedError` for None if the path has parameters, and `SourceError` for any other value that is
    not text.
    """
    text = cast("Text", made)
    match text:
        case None if request.params:
            values = " and ".join(
                f"{quoted(f'{{{name}}}')} = {quoted(value)}" for name, value in request.params.items()
            )
            raise NotServedError(request.uri, "skill", f"there is none with {values}")
        case str():
            try:
                return text.encode()
            except UnicodeEncodeError as error:
                raise SourceError(
                    f"the text of {quoted(request.uri)} holds half of a surrogate pair"
                ) from error
        case bytes():
            return text
        case _:
            kind = type(made).__name__
            raise SourceError(
                f"the function that makes {quoted(request.uri)} returned {kind} instead of text"
            )


def _document(made: bytes, request: SkillRequest, listed: Mapping[str, Json], limits: Limits) -> bytes:
    """Return `made`, with the listed frontmatter added if `made` has none.

    Raises `SourceError` if `made` is too large, or has a frontmatter that cannot be read or differs from
    the listed frontmatter. Hosts would refuse a different frontmatter (H13).
    """
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
        raise SourceError(f"in the text of {quoted(request.uri)}, {differing} is not as listed")
    return made
