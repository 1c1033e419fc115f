"""What a person names to reach a server: a URL, or a command that starts one."""

import os
import shlex
import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO, cast

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from skillwire.model.display import quoted, visible
from skillwire.model.errors import SkillwireError, UsageError

COMMAND = "stdio:"
"""What stands before a command where a server is meant. `-- command` means the same."""
_PATIENCE = 60.0
"""Seconds for one answer."""
_LAST_WORDS = 2000
"""Bytes of what a program said before it ended."""


class UnreachableError(SkillwireError):
    """No server answered."""


@dataclass(frozen=True, slots=True)
class Target:
    """How to reach one server."""

    label: str
    """What the person calls it. Nothing that the server says of itself counts (H9)."""
    url: str | None = None
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @classmethod
    def parse(cls, text: str) -> "Target":
        """Return the target of a URL, or of `stdio:` and a command. Raises `UsageError`."""
        if text.startswith(("http://", "https://")):
            return cls(text, url=text)
        if text.startswith(COMMAND):
            try:
                words = shlex.split(text.removeprefix(COMMAND))
            except ValueError as error:
                raise UsageError(f"{quoted(text)} is no command: {error}", hint="close its quotes") from error
            if words:
                return cls(shlex.join(words), command=tuple(words))
        raise UsageError(
            f"{quoted(text)} is no server",
            hint="write a URL, or the command that starts one behind `--`, as in `-- python server.py`",
        )


@asynccontextmanager
async def connected(target: Target, mode: Any = "auto") -> AsyncGenerator[Client]:
    """Yield a client of the server. Raises `UnreachableError`, with what it last said where that is known."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        client = Client(_transport(target, said), read_timeout_seconds=_PATIENCE, mode=mode)
        try:
            await client.__aenter__()
        except Exception as error:  # whatever it is: there is no connection
            reasons = ", ".join(dict.fromkeys(_reasons(error)))
            raise UnreachableError(
                f"{quoted(target.label)} does not answer: {reasons}{_words(said)}"
            ) from error
        try:
            yield client
        finally:
            await client.__aexit__(None, None, None)


def _transport(target: Target, said: TextIO) -> Any:
    if target.url is not None:
        return target.url
    program, *arguments = target.command
    env = {**os.environ, **target.env} if target.env else None
    # What it says on its standard error is kept from the terminal: it may hold anything.
    return stdio_client(StdioServerParameters(command=program, args=arguments, env=env), errlog=said)


def _reasons(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        inner: tuple[BaseException, ...] = cast("Any", error).exceptions
        for each in inner:
            yield from _reasons(each)
    else:
        yield visible(str(error) or type(error).__name__, 300)


def _words(said: TextIO) -> str:
    said.seek(0)
    lines = said.read()[-_LAST_WORDS:].strip().splitlines()
    return f"; it said: {visible(lines[-1], 300)}" if lines else ""
