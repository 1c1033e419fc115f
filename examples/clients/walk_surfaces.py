"""Check that the prompts of a running server agree with its resources.

python examples/clients/walk_surfaces.py http://127.0.0.1:8765/mcp
python examples/clients/walk_surfaces.py -- python examples/servers/code_mode.py

For every prompt that names its skill, it reads the skill's files as resources, joins them as a prompt does,
and compares them with the prompt's text. It prints the number of bytes and the name of each prompt. The exit
code is 0 if all agree, 1 if one differs or there is nothing to compare, and 2 if the server does not answer.
"""

import os
import sys
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import cast
from urllib.parse import unquote

import anyio
import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import Prompt, TextContent, TextResourceContents

SKILL = "dev.skillwire/skill"
"""In a prompt's `_meta`: the URI of its skill."""
RESOURCES = "dev.skillwire/resources"
"""In a prompt's `_meta`: the URIs of that skill's files, in the order of the prompt."""

AROUND = 24
"""Bytes shown before and after the first difference."""
MOST_PAGES = 1_000
USAGE = "usage: walk_surfaces.py URL, or walk_surfaces.py -- COMMAND [ARGUMENT…]"


class SurfaceError(Exception):
    """Prompts and resources differ, or cannot be compared."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A prompt's text, and the joined resources of its skill."""

    name: str
    prompt: bytes
    resources: bytes

    def check(self) -> None:
        """Raise `SurfaceError` at the first byte that differs."""
        if self.prompt == self.resources:
            return
        sides = zip(self.prompt, self.resources, strict=False)
        shorter = min(len(self.prompt), len(self.resources))
        offset = next((at for at, (one, other) in enumerate(sides) if one != other), shorter)
        raise SurfaceError(
            f"`{self.name}` differs at byte {offset}\n"
            f"  prompt:    {_excerpt(self.prompt, offset)}\n"
            f"  resources: {_excerpt(self.resources, offset)}"
        )


async def pairs(client: Client) -> AsyncIterator[Pair]:
    """Yield both texts of every prompt that names its skill. Raises `SurfaceError` if one is missing."""
    async for prompt in _prompts(client):
        if uris := _files(prompt):
            text = await _prompt_text(client, prompt.name)
            yield Pair(prompt.name, text.encode(), await _stitched(client, uris))


def _files(prompt: Prompt) -> list[str]:
    """Return the URIs of a prompt's files, `SKILL.md` first; empty if it names no skill."""
    meta = prompt.meta or {}
    if (skill := meta.get(SKILL)) is None:
        return []
    named = meta.get(RESOURCES)
    uris = [str(each) for each in cast("list[object]", named)] if isinstance(named, list) else []
    if uris[:1] != [skill]:
        raise SurfaceError(f"`{prompt.name}` names the skill {skill}, but not its files, that one first")
    return uris


async def _prompts(client: Client) -> AsyncIterator[Prompt]:
    if client.server_capabilities.prompts is None:
        return
    cursor = None
    for _ in range(MOST_PAGES):
        page = await client.list_prompts(cursor=cursor)
        for prompt in page.prompts:
            yield prompt
        if (cursor := page.next_cursor) is None:
            return
    raise SurfaceError(f"the list of prompts has more than {MOST_PAGES:,} pages")


async def _prompt_text(client: Client, name: str) -> str:
    messages = (await client.get_prompt(name)).messages
    if len(messages) != 1 or not isinstance(messages[0].content, TextContent):
        raise SurfaceError(f"`{name}` is not one message of text")
    return messages[0].content.text


async def _stitched(client: Client, uris: list[str]) -> bytes:
    """Join the files as a prompt does: a line with the path before each but the first, and final newlines."""
    root = uris[0].removesuffix("SKILL.md")
    stitched = _ended(await _read(client, uris[0]))
    for uri in uris[1:]:
        if not uri.startswith(root):
            raise SurfaceError(f"{uri} is not a file below {root}")
        path = unquote(uri.removeprefix(root))
        stitched += f"\n--- {path} ---\n".encode() + _ended(await _read(client, uri))
    return stitched


async def _read(client: Client, uri: str) -> bytes:
    contents = (await client.read_resource(uri)).contents
    if len(contents) != 1:
        raise SurfaceError(f"{uri} has {len(contents)} contents, not one")
    (content,) = contents
    return content.text.encode() if isinstance(content, TextResourceContents) else b64decode(content.blob)


def _ended(content: bytes) -> bytes:
    return content if content.endswith(b"\n") else content + b"\n"


def _excerpt(content: bytes, offset: int) -> str:
    if offset == len(content):
        return f"{content[max(offset - AROUND, 0) :]!r} and ends there"
    return repr(content[max(offset - AROUND, 0) : offset + AROUND])


def _server(arguments: list[str]) -> str | StdioServerParameters | None:
    match arguments:
        case ["--", command, *rest]:
            return StdioServerParameters(command=command, args=rest, env=dict(os.environ))
        case [url] if "://" in url:
            return url
        case _:
            return None


async def compare(client: Client) -> int:
    """Compare all prompts and print the result. Return the exit code."""
    compared = 0
    try:
        async for pair in pairs(client):
            pair.check()
            compared += 1
            sys.stdout.write(f"{len(pair.prompt)} {pair.name}\n")
    except (SurfaceError, MCPError, ValueError) as error:  # ValueError: an invalid answer
        sys.stderr.write(f"error: {error}\n")
        return 1
    if not compared:
        sys.stderr.write("error: no prompt names its skill, so there is nothing to compare\n")
        return 1
    sys.stderr.write(f"{compared} prompt{'s' if compared > 1 else ''}: both surfaces agree\n")
    return 0


async def walk(server: str | StdioServerParameters) -> int:
    async with Client(server) as client:
        return await compare(client)


def main(arguments: list[str]) -> int:
    if (server := _server(arguments)) is None:
        sys.stderr.write(f"error: name one server\nhint: {USAGE}\n")
        return 2
    try:
        return anyio.run(walk, server)
    except* (OSError, MCPError, httpx2.HTTPError) as errors:
        first: BaseException = errors
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        sys.stderr.write(f"error: the server cannot be asked: {first}\nhint: {USAGE}\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
