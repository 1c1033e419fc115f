"""Asking an author's function for a text, within bounds, and holding it to what was listed."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import anyio

from skillwire.authoring.live import LiveSkill, SkillRequest, Text
from skillwire.authoring.live_rules import takes
from skillwire.authoring.threads import Threads
from skillwire.model.display import quoted
from skillwire.model.entry import Json
from skillwire.model.errors import NotServedError, SourceError
from skillwire.model.limits import Limits
from skillwire.model.problem import Rule
from skillwire.model.template import Suggest
from skillwire.skillmd.document import read_document
from skillwire.skillmd.write import write_frontmatter
from skillwire.wire.verify import same

_log = logging.getLogger(__name__)

_THREADS = Threads()


async def resolve(
    skill: LiveSkill, request: SkillRequest, listed: Mapping[str, Json], limits: Limits
) -> bytes:
    """Return the `SKILL.md` that the function of `skill` makes, with the frontmatter that was listed.

    Raises `SourceError` where the function fails, takes too long or says something else than the listing,
    and `NotServedError` where it says that there is no such skill.
    """
    with anyio.move_on_after(skill.timeout) as bound:
        made = await _made(skill, request)
        return _document(_as_bytes(made, request), request, listed, limits)
    assert bound.cancelled_caught, "nothing else ends it early"
    raise SourceError(f"the text of {quoted(request.uri)} was not made within {skill.timeout:g} s")


async def _made(skill: LiveSkill, request: SkillRequest) -> object:
    """Return what the author's function returns. Whatever it raises is its own trouble, and nobody else's."""
    try:
        return await (
            _called(skill.resolver, request) if takes(skill.resolver, 1) else _called(skill.resolver)
        )
    except asyncio.CancelledError as error:
        if (task := asyncio.current_task()) is None or task.cancelling():
            raise  # we are cancelled, and not something that the function waited for
        raise _failed(request) from error
    except (Exception, SystemExit) as error:
        raise _failed(request) from error


def _failed(request: SkillRequest) -> SourceError:
    _log.exception("the function that makes %s failed", quoted(request.uri))
    return SourceError(f"the function that makes {quoted(request.uri)} failed; the server's log says more")


def suggestions(values: Callable[[str], object]) -> Suggest:
    """Return the function behind a parameter, made safe to ask."""

    async def suggest(typed: str) -> Sequence[str]:
        try:
            with anyio.fail_after(5):
                return list(await _called(values, typed))
        except Exception:  # noqa: BLE001 - somebody's code: without it, there are no suggestions
            _log.exception("the function that completes a parameter failed")
            return ()

    return suggest


async def _called(function: Callable[..., Any], *arguments: object) -> Any:
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
    if not same(dict(found), dict(listed)):
        missing = found.keys() ^ listed.keys()
        fields = sorted(
            missing | {key for key in found.keys() & listed.keys() if not same(found[key], listed[key])}
        )
        differing = ", ".join(fields)
        raise SourceError(f"the text of {quoted(request.uri)} has another {differing} than the listing")
    return made
