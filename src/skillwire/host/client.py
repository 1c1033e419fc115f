"""A client of skills: what it asks a server, and what of the answers can be used."""

import base64
import binascii
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire.host.asking import ask
from skillwire.model.display import visible
from skillwire.model.errors import SkillwireError
from skillwire.model.limits import Limits
from skillwire.wire.findings import Fault, Finding
from skillwire.wire.messages import (
    DIRECTORY_READ,
    EXTENSION,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCES_READ,
    SKILLS_GET,
    SKILLS_LIST,
)
from skillwire.wire.remote import RemoteSkill, parse_entry

MAX_PAGES = 1000
MAX_ENTRIES = 20_000
"""Pages and entries that are followed of one list (H2)."""


class FindingError(SkillwireError):
    """Something that a server sent cannot be used."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        super().__init__(str(finding))


@dataclass(slots=True)
class Listing:
    """What a list held: the good entries, every fault, and whether it was followed to its end."""

    skills: list[RemoteSkill] = field(default_factory=list[RemoteSkill])
    findings: list[Finding] = field(default_factory=list[Finding])
    complete: bool = True


class SkillsClient:
    """Asks one server for skills, over a connection of the SDK, on every protocol version.

    Nothing is cached: what is answered is what the server says now (H15).
    """

    def __init__(self, client: Client, limits: Limits | None = None) -> None:
        self._client = client
        self._limits = limits or Limits()

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """What the server declares of the extension; None if it does not declare it (H1)."""
        extensions = self._client.server_capabilities.extensions or {}
        settings: object = extensions.get(EXTENSION)
        return cast("Mapping[str, Any]", settings) if isinstance(settings, dict) else None

    @property
    def reads_directories(self) -> bool:
        return self.declared is not None and self.declared.get("directoryRead") is True

    async def list(self) -> Listing:
        """Follow `skills/list` to its end. One bad entry hides no other (H5). Raises `MCPError`."""
        listing, seen = Listing(), set[str]()
        async for result in self._pages(SKILLS_LIST, {}, listing):
            entries = result.get("skills")
            if not isinstance(entries, list):
                listing.findings.append(Finding(SKILLS_LIST, Fault.LIST_SHAPE, "`skills` is not a list"))
                continue
            for entry in cast("list[object]", entries):
                parsed = parse_entry(entry, self._limits)
                if not isinstance(parsed, RemoteSkill):
                    listing.findings += parsed
                elif parsed.uri in seen:
                    listing.findings.append(Finding(parsed.uri, Fault.ENTRY_TWICE, "it is listed twice"))
                else:
                    seen.add(parsed.uri)
                    listing.skills.append(parsed)
            if len(listing.skills) >= MAX_ENTRIES:
                listing.complete = False
                told = f"it has more than {MAX_ENTRIES:,} entries; no more were asked for"
                listing.findings.append(Finding(SKILLS_LIST, Fault.LIST_ENDLESS, told))
                break
        return listing

    async def get(self, uri: str) -> RemoteSkill:
        """Return the skill at `uri`, listed or not (H3). Raises `FindingError` or `MCPError`."""
        result = await self._ask(SKILLS_GET, {"uri": uri})
        parsed = parse_entry(result.get("skill"), self._limits)
        if not isinstance(parsed, RemoteSkill):
            raise FindingError(parsed[0])
        if parsed.uri != uri:
            told = f"asked for it, the server answered with `{visible(parsed.uri, 200)}`"
            raise FindingError(Finding(uri, Fault.ENTRY_OTHER, told))
        return parsed

    async def read(self, uri: str, limit: int | None = None) -> bytes:
        """Return the bytes at `uri`: one block, of that very URI, and not too long (H25).

        Raises `FindingError` or `MCPError`.
        """
        result = await self._ask(RESOURCES_READ, {"uri": uri})
        blocks = result.get("contents")
        if not isinstance(blocks, list) or len(cast("list[object]", blocks)) != 1:
            raise FindingError(Finding(uri, Fault.READ_SHAPE, "the answer is not one block of content"))
        block = cast("list[Any]", blocks)[0]
        if not isinstance(block, dict) or cast("dict[str, Any]", block).get("uri") != uri:
            raise FindingError(Finding(uri, Fault.READ_SHAPE, "the answer is about another URI"))
        return _content(uri, cast("dict[str, Any]", block), self._limits.bytes if limit is None else limit)

    async def read_directory(self, uri: str) -> "list[Mapping[str, Any]]":
        """Return the direct children of a folder. Raises `FindingError` or `MCPError`."""
        listing, children = Listing(), list[Mapping[str, Any]]()
        async for result in self._pages(DIRECTORY_READ, {"uri": uri}, listing):
            found = result.get("resources")
            if not isinstance(found, list):
                raise FindingError(Finding(uri, Fault.LIST_SHAPE, "`resources` is not a list"))
            children += [child for child in cast("list[Any]", found) if isinstance(child, dict)]
        if listing.findings:
            raise FindingError(listing.findings[0])
        return children

    async def prompts(self) -> AsyncGenerator[Mapping[str, Any]]:
        """Yield every prompt that the server lists. Raises `MCPError`."""
        listing = Listing()
        async for result in self._pages(PROMPTS_LIST, {}, listing):
            for prompt in cast("list[Any]", result.get("prompts") or []):
                if isinstance(prompt, dict):
                    yield cast("Mapping[str, Any]", prompt)
        if listing.findings:
            raise FindingError(listing.findings[0])

    async def prompt(self, name: str) -> Mapping[str, Any]:
        """Return what `prompts/get` answers. Raises `MCPError`."""
        return await self._ask(PROMPTS_GET, {"name": name})

    async def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        return await ask(self._client, method, **params)

    async def _pages(
        self, method: str, params: Mapping[str, Any], listing: Listing
    ) -> AsyncGenerator[dict[str, Any]]:
        """Yield each page. An empty cursor is one, too; a repeated one ends the list (H2)."""
        cursors: set[str] = set()
        asked = dict(params)
        for _ in range(MAX_PAGES):
            result = await self._ask(method, asked)
            yield result
            cursor = result.get("nextCursor")
            if cursor is None:
                return
            if not isinstance(cursor, str) or cursor in cursors:
                told = "a cursor came twice" if isinstance(cursor, str) else "a cursor is not a text"
                break
            cursors.add(cursor)
            asked = {**params, "cursor": cursor}
        else:
            told = f"it has more than {MAX_PAGES:,} pages; no more were asked for"
        listing.complete = False
        listing.findings.append(Finding(method, Fault.LIST_ENDLESS, told))


def _content(uri: str, block: Mapping[str, Any], limit: int) -> bytes:
    text, blob = block.get("text"), block.get("blob")
    if isinstance(text, str) == isinstance(blob, str):
        raise FindingError(
            Finding(uri, Fault.READ_SHAPE, "the answer has neither a text nor a blob, or both")
        )
    if isinstance(text, str):
        try:
            content = text.encode()
        except UnicodeEncodeError as error:
            raise FindingError(Finding(uri, Fault.READ_SHAPE, "the text holds half a character")) from error
    else:
        encoded = str(blob)
        if len(encoded) > limit // 3 * 4 + 8:  # before it is decoded, and takes the memory
            raise FindingError(Finding(uri, Fault.READ_BUDGET, f"it has more than {limit:,} bytes"))
        try:
            content = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise FindingError(Finding(uri, Fault.READ_SHAPE, "the blob is not base64")) from error
    if len(content) > limit:
        raise FindingError(Finding(uri, Fault.READ_BUDGET, f"it has more than {limit:,} bytes"))
    return content


def refusal(uri: str, error: MCPError) -> Finding:
    """Return what a server said instead of an answer."""
    return Finding(uri, Fault.READ_FAILED, f"the server refused: {visible(str(error), 200)}")
