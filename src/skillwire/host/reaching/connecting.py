"""A connection to a server, bounded in time and size, that keeps what the server says from the terminal."""

import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, TextIO, cast

import anyio
import httpx2
from mcp import Client
from mcp.client.session import MessageHandlerFnT
from mcp.shared.exceptions import MCPError

from skillwire.host.reaching.ending import noticing
from skillwire.host.reaching.errors import UnreachableError, WantsLoginError
from skillwire.host.reaching.last_words import LastWords
from skillwire.host.reaching.quiet import quiet
from skillwire.host.reaching.refused import wants_login
from skillwire.host.reaching.stdio import over_stdio
from skillwire.host.reaching.target import Target
from skillwire.host.reaching.traffic import Traffic, TrafficLimits
from skillwire.host.reaching.web import over_http
from skillwire.model.display import quoted, visible
from skillwire.model.errors import SkillwireError

__all__ = ["UnreachableError", "connected", "reason"]

_PATIENCE = 60.0
"""Seconds for one answer."""
_FAREWELL = 5.0
"""Seconds to take leave of a server in peace."""
_OURS = (OSError, httpx2.ConnectError, SkillwireError)
"""Failures whose messages come from this machine, and hold no text of a server."""


@asynccontextmanager
async def connected(
    target: Target,
    mode: Any = "auto",
    *,
    on_message: MessageHandlerFnT | None = None,
    on_end: Callable[[str], None] = lambda _: None,
    limits: TrafficLimits | None = None,
) -> AsyncGenerator[Client]:
    """Yield a client of the server. Raises `UnreachableError`, with what it last said where that is known.

    `on_message` gets what the server says unasked; `on_end` is called when it can say nothing more, with the
    reason if it sent more than the `limits` allow.
    """
    traffic = Traffic(limits)
    with quiet(), LastWords() as words, anyio.CancelScope() as leaving:
        client = Client(
            noticing(_transport(target, words.file, traffic), traffic, on_end),
            read_timeout_seconds=_PATIENCE,
            mode=mode,
            message_handler=on_message,
        )
        try:
            await client.__aenter__()
        except Exception as error:  # whatever it is: there is no connection
            if (wanted := _login_wanted(error)) is not None:
                raise wanted from error
            said = f"; it said: {quoted(last, 300)}" if (last := words.last_line()) else ""
            # Models and clients read this, too.
            why = target.without_secrets(f"{traffic.trouble or reason(error)}{said}")
            raise UnreachableError(f"{quoted(target.label)} does not answer: {why}") from error
        try:
            yield client
        finally:
            leaving.deadline = anyio.current_time() + (0 if traffic.trouble else _FAREWELL)
            try:
                await client.__aexit__(None, None, None)
            except Exception as error:
                why = target.without_secrets(traffic.trouble or reason(error))
                raise UnreachableError(f"{quoted(target.label)} was lost: {why}") from error
    if traffic.trouble:
        raise UnreachableError(f"{quoted(target.label)} was dropped: {traffic.trouble}")


def _transport(target: Target, said: TextIO, traffic: Traffic) -> Any:
    if target.url is not None:
        return over_http(
            target.url,
            traffic,
            target.token,
            target.headers,
            public_only=target.public_only,
            tokens=target.tokens,
            advice=target.advice,
        )
    # It is the person's own command, with the person's variables.
    env = {**os.environ, **target.env}
    return over_stdio(target.command, traffic, cwd=target.cwd, env=env, errors=said)


def _login_wanted(error: BaseException) -> WantsLoginError | None:
    """Return the error of a server that requires a login, if it is among the causes."""
    if isinstance(error, BaseExceptionGroup):
        inner: tuple[BaseException, ...] = cast("Any", error).exceptions
        return next((found for each in inner if (found := _login_wanted(each)) is not None), None)
    if isinstance(error, MCPError):
        return wants_login(error)
    return None


def reason(error: BaseException) -> str:
    """Return why there is no connection, in the words of whatever failed; each of them once."""
    return ", ".join(dict.fromkeys(_reasons(error)))


def _reasons(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        inner: tuple[BaseException, ...] = cast("Any", error).exceptions
        for each in inner:
            yield from _reasons(each)
    else:
        said = str(error)
        # Most of them repeat what a server answered, and nothing of that is a sentence of this program.
        ours = not said or isinstance(error, _OURS)
        yield visible(said or type(error).__name__, 300) if ours else quoted(said, 300)
