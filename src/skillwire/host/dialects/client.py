"""A client for the Skills extension: list, get and read the skills of one server within limits."""

import base64
import binascii
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

import anyio.lowlevel
import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict, ValidationError

from skillwire.core.json_text import weight
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Limits
from skillwire.errors import VerificationError
from skillwire.host.connections.http import wants_login
from skillwire.host.connections.traffic import Budget, TrafficLimits, limit_answer
from skillwire.protocol.findings import Findings, server_problem
from skillwire.protocol.messages import (
    DIRECTORY_READ,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_READ,
    SKILLS_GET,
    SKILLS_LIST,
    find_declared_settings,
    reads_directories,
)
from skillwire.protocol.remote import Dialect, SkillClaim, parse_entry
from skillwire.safe_text import quoted

MAX_PAGES = 1000
MAX_ENTRIES = 20_000
"""Limits of pages, and of entries good or bad, of one list (H2)."""
_MAX_CURSOR = 65_536
MAX_LIST = 64 * 1024 * 1024
"""Limit of bytes of one list, estimated as it takes memory (H25)."""
_YIELD_EVERY = 200
"""Entries to parse before other tasks get their turn."""
_READ_OVERHEAD, _READ_FACTOR = 256 * 1024, 6
"""Bytes around the content of an answer, and the most bytes that JSON needs for one byte of content."""
BUDGET = 256 * 1024 * 1024
"""Limit of bytes to read from one server (H25)."""


class _Params(types.RequestParams):
    model_config = ConfigDict(extra="allow")


class _Result(types.Result):
    model_config = ConfigDict(extra="allow")


class _Request(types.Request[_Params, str]):
    method: str
    params: _Params


async def ask(client: Client, method: str, **params: object) -> dict[str, Any]:
    """Send a request, and return its result unchecked, without `_meta`.

    Raises `MCPError`, or `LoginRequiredError` if the server requires a login.
    """
    request = _Request(method=method, params=_Params.model_validate(params))
    try:
        result = await client.session.send_request(request, _Result)
    except MCPError as error:
        if (login_required := wants_login(error)) is not None:
            raise login_required from error
        raise
    return dict(result.model_extra or {})


@dataclass(slots=True)
class Listing:
    """The result of a listing: the valid entries, all findings, and whether it is complete."""

    skills: list[SkillClaim] = field(default_factory=list[SkillClaim])
    findings: Findings = field(default_factory=Findings)
    complete: bool = True
    dialect: Dialect | None = None
    """The dialect of the server; None if no dialect gave a skill."""
    _seen: set[str] = field(default_factory=set[str], repr=False)

    def take(self, parsed: "SkillClaim | list[Problem]") -> None:
        """Add a parsed entry: the skill, or a finding if it is invalid or a duplicate."""
        if not isinstance(parsed, SkillClaim):
            self.findings.add(*parsed)
        elif parsed.uri in self._seen:
            self.findings.add(server_problem(parsed.uri, Rule.ENTRY_TWICE, "it is listed twice"))
        else:
            self._seen.add(parsed.uri)
            self.skills.append(parsed)

    def end(self, finding: Problem) -> None:
        """Mark the listing as incomplete, and add the reason."""
        self.complete = False
        self.findings.add(finding)


class SkillsClient:
    """Lists and reads the skills of one server, over a client of the SDK. Nothing is cached (H15)."""

    def __init__(
        self,
        client: Client,
        limits: Limits | None = None,
        budget: int = BUDGET,
        *,
        legacy_flags: bool = False,
        traffic: TrafficLimits | None = None,
    ) -> None:
        """`budget` limits the bytes of all reads until `refill`.

        With `legacy_flags`, the extension may also be declared where early drafts declared it.
        """
        self._client = client
        self._traffic = traffic or TrafficLimits()
        self._legacy_flags = legacy_flags
        self.limits = limits or Limits()
        self._budget = self._left = budget

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """The settings of the extension that the server declares; None if it does not declare it (H1)."""
        capabilities = self._client.server_capabilities
        return find_declared_settings(
            capabilities.extensions, capabilities.experimental if self._legacy_flags else None
        )

    @property
    def reads_directories(self) -> bool:
        """Whether `read_directory` may be called: the server declares exactly `true` (H1)."""
        return reads_directories(self.declared, legacy_flags=self._legacy_flags)

    @property
    def declares_legacy(self) -> bool:
        """Whether the declaration counts only because of `legacy_flags`."""
        settings = find_declared_settings(self._client.server_capabilities.extensions)
        return settings != self.declared or reads_directories(settings) != self.reads_directories

    @property
    def offers_resources(self) -> bool:
        """Whether the server declares resources."""
        return self._client.server_capabilities.resources is not None

    @property
    def offers_prompts(self) -> bool:
        """Whether the server declares prompts."""
        return self._client.server_capabilities.prompts is not None

    def refill(self) -> None:
        """Reset the budget."""
        self._left = self._budget

    async def list(self) -> Listing:
        """Return all pages of `skills/list`. An invalid entry does not hide others (H5).

        Raises `VerificationError` or `MCPError`.
        """
        listing = Listing(dialect=Dialect.FINAL)
        async for entry in self.entries(listing):
            listing.take(parse_entry(entry, self.limits))
        return listing

    def entries(self, listing: Listing) -> AsyncGenerator[object]:
        """Yield each entry of `skills/list`, unchecked. If it is cut off, `listing` gets the reason."""
        return self._entries(SKILLS_LIST, "skills", {}, listing)

    def resources(self, listing: Listing) -> AsyncGenerator[object]:
        """Yield each entry of `resources/list`, unchecked. If it is cut off, `listing` gets the reason."""
        return self._entries(RESOURCES_LIST, "resources", {}, listing)

    async def get(self, uri: str, dialect: Dialect = Dialect.FINAL) -> SkillClaim:
        """Return the skill at `uri`, listed or not (H3). Raises `VerificationError` or `MCPError`."""
        result = await self._ask(SKILLS_GET, {"uri": uri}, uri)
        parsed = parse_entry(result.get("skill"), self.limits, dialect)
        if not isinstance(parsed, SkillClaim):
            raise VerificationError("", parsed[0])
        if parsed.uri != uri:
            message = f"the server answered `skills/get` with another skill, {quoted(parsed.uri)}"
            raise VerificationError("", server_problem(uri, Rule.ENTRY_OTHER, message))
        return parsed

    async def read(self, uri: str, size: int | None = None, *, max_bytes: int | None = None) -> bytes:
        """Return the bytes at `uri`. The answer must be one block with exactly that URI, within limits (H25).

        Every read counts towards the budget. Nothing is requested if the listed `size` exceeds what reads in
        progress leave of the budget. `max_bytes` limits an answer of unknown size. Raises `VerificationError`
        or `MCPError`.
        """
        if max_bytes is None:
            max_bytes = (max(self._left, 0) if size is None else size) * _READ_FACTOR + _READ_OVERHEAD
        async with self._reserve(uri, 1 if size is None else size):
            blocks = await self._blocks(uri, max_bytes)
        if len(blocks) != 1:
            raise VerificationError(
                "", server_problem(uri, Rule.READ_SHAPE, "the answer is not one block of content")
            )
        if blocks[0].get("uri") != uri:
            raise VerificationError("", server_problem(uri, Rule.READ_SHAPE, "the answer has another URI"))
        return self._decode_block(uri, blocks[0])

    async def read_all(self, uri: str) -> dict[str, bytes]:
        """Return the content of every block of the answer, by the URI of the block.

        Only servers from before the extension answer with several blocks. Raises `VerificationError` or
        `MCPError`.
        """
        async with self._reserve(uri, 1):
            blocks = await self._blocks(uri)
        if len(blocks) > self.limits.files:
            message = f"the answer has {len(blocks):,} blocks; the limit is {self.limits.files:,}"
            raise VerificationError("", server_problem(uri, Rule.READ_SHAPE, message))
        files: dict[str, bytes] = {}
        for block in blocks:
            own: object = block.get("uri")
            if not isinstance(own, str) or own in files:
                raise VerificationError(
                    "",
                    server_problem(uri, Rule.READ_SHAPE, "a block has no URI, or the URI of another block"),
                )
            files[own] = self._decode_block(own, block)
        return files

    async def read_directory(self, uri: str) -> "list[Mapping[str, Any]]":
        """Return the direct children of a folder. Raises `VerificationError` or `MCPError`."""
        listing, children = Listing(), list[Mapping[str, Any]]()
        async for child in self._entries(DIRECTORY_READ, "resources", {"uri": uri}, listing):
            if not _is_child(uri, child):
                raise VerificationError(
                    "", server_problem(uri, Rule.LIST_SHAPE, "an entry is not a direct child of the folder")
                )
            children.append(cast("Mapping[str, Any]", child))
        listing.findings.raise_first()
        return children

    async def prompts(self) -> AsyncGenerator[Mapping[str, Any]]:
        """Yield every prompt that the server lists. Raises `VerificationError` or `MCPError`."""
        listing = Listing()
        async for prompt in self._entries(PROMPTS_LIST, "prompts", {}, listing):
            if isinstance(prompt, dict):
                yield cast("Mapping[str, Any]", prompt)
        listing.findings.raise_first()

    async def prompt(self, name: str) -> Mapping[str, Any]:
        """Return the result of `prompts/get`. Raises `VerificationError` or `MCPError`."""
        return await self._ask(PROMPTS_GET, {"name": name}, name)

    @asynccontextmanager
    async def _reserve(self, uri: str, size: int) -> AsyncGenerator[None]:
        """Subtract `size` bytes from the budget while a read is in progress."""
        if size > self._left:
            raise VerificationError("", self._budget_error(uri))
        self._left -= size
        try:
            yield
        finally:  # the caller counts the real size before any other task runs
            self._left += size

    async def _blocks(self, uri: str, max_bytes: int | None = None) -> "list[dict[str, Any]]":
        blocks = (await self._ask(RESOURCES_READ, {"uri": uri}, uri, max_bytes)).get("contents")
        if not isinstance(blocks, list):
            raise VerificationError(
                "", server_problem(uri, Rule.READ_SHAPE, "the answer has no list `contents`")
            )
        return [each if isinstance(each, dict) else {} for each in cast("list[Any]", blocks)]

    def _decode_block(self, uri: str, block: Mapping[str, Any]) -> bytes:
        """Return the content of a block, and subtract it from the budget."""
        weight, left = _block_size(block), self._left
        self._left -= max(weight, 1)  # empty files count, too
        if weight > left:
            raise VerificationError("", self._budget_error(uri))
        return _content(uri, block, self.limits.bytes)

    def _budget_error(self, uri: str) -> Problem:
        message = f"it was not read: the limit is {self._budget:,} bytes for one server"
        return server_problem(uri, Rule.READ_BUDGET, message)

    async def _ask(
        self,
        method: str,
        params: Mapping[str, Any],
        place: str,
        max_bytes: int | None = None,
        budget: Budget | None = None,
    ) -> dict[str, Any]:
        with limit_answer(max_bytes, budget) as expected:
            try:
                return await ask(self._client, method, **params)
            except ValidationError as error:  # the SDK validates the shape of some answers
                at = ".".join(map(str, error.errors(include_url=False, include_input=False)[0]["loc"]))
                message = f"the answer does not follow the protocol, at {quoted(at)}"
                raise VerificationError("", server_problem(place, Rule.READ_SHAPE, message)) from error
            except MCPError as error:
                if not expected.refused:
                    raise
                raise VerificationError(
                    "", server_problem(place, Rule.READ_BUDGET, expected.refused)
                ) from error

    async def _entries(
        self, method: str, key: str, params: Mapping[str, Any], listing: Listing
    ) -> AsyncGenerator[object]:
        """Yield each entry of each page, up to the limits of entries and bytes (H2, H25)."""
        count, left = 0, MAX_LIST
        async for page in self._pages(method, params, listing):
            entries = page.get(key)
            if not isinstance(entries, list):
                listing.findings.add(server_problem(method, Rule.LIST_SHAPE, f"`{key}` is not a list"))
                entries = []
            for entry in cast("list[object]", entries):
                if count == MAX_ENTRIES:
                    message = f"the list has more than {MAX_ENTRIES:,} entries; the rest is ignored"
                    listing.end(server_problem(method, Rule.LIST_ENDLESS, message))
                    return
                count += 1
                if not count % _YIELD_EVERY:
                    await anyio.lowlevel.checkpoint()
                left -= weight(entry, left)
                if left < 0:
                    message = f"the list has more than {MAX_LIST:,} bytes; the rest is ignored"
                    listing.end(server_problem(method, Rule.LIST_ENDLESS, message))
                    return
                yield entry

    async def _pages(
        self, method: str, params: Mapping[str, Any], listing: Listing
    ) -> AsyncGenerator[Mapping[str, Any]]:
        """Yield each page. An empty cursor counts as a cursor. A repeated one ends the list (H2)."""
        cursors: set[str] = set()
        page_params, budget = dict(params), Budget(self._traffic.listing_bytes)
        for _ in range(MAX_PAGES):
            try:
                page = await self._ask(method, page_params, method, budget=budget)
            except VerificationError as error:
                if error.problems[0].rule is not Rule.READ_BUDGET or not cursors:
                    raise
                message = error.problems[0].message
                break
            yield page
            cursor = page.get("nextCursor")
            if cursor is None:
                return
            if not isinstance(cursor, str) or len(cursor) > _MAX_CURSOR:
                message = f"a cursor is not a string of at most {_MAX_CURSOR:,} characters"
                break
            if cursor in cursors:
                message = "a cursor is repeated"
                break
            if budget.left <= 0:
                message = f"the list has more than {budget.total:,} bytes; the rest is not requested"
                break
            cursors.add(cursor)
            page_params = {**params, "cursor": cursor}
        else:
            message = f"the list has more than {MAX_PAGES:,} pages; the rest is not requested"
        listing.end(server_problem(method, Rule.LIST_ENDLESS, message))


def _is_child(folder: str, child: object) -> bool:
    uri = cast("Mapping[str, Any]", child).get("uri") if isinstance(child, dict) else None
    below = f"{folder.rstrip('/')}/"
    if not isinstance(uri, str) or not uri.startswith(below):
        return False
    name = unquote(uri.removeprefix(below).removesuffix("/"))  # a folder may end in a slash
    return name not in {"", ".", ".."} and not {"/", "\\", "\0"} & set(name)


def _block_size(block: Mapping[str, Any]) -> int:
    """Return the number of bytes in a block, valid or not."""
    text, blob = block.get("text"), block.get("blob")
    weight = len(text.encode(errors="surrogatepass")) if isinstance(text, str) else 0
    return weight + (len(blob.rstrip("=")) * 3 // 4 if isinstance(blob, str) else 0)


def _content(uri: str, block: Mapping[str, Any], limit: int) -> bytes:
    text, blob = block.get("text"), block.get("blob")
    if isinstance(text, str) == isinstance(blob, str):
        raise VerificationError(
            "", server_problem(uri, Rule.READ_SHAPE, "the answer has neither a text nor a blob, or both")
        )
    if isinstance(text, str):
        try:
            content = text.encode()
        except UnicodeEncodeError as error:
            raise VerificationError(
                "", server_problem(uri, Rule.READ_SHAPE, "the text contains a lone surrogate")
            ) from error
    else:
        encoded = str(blob)
        if len(encoded) > limit // 3 * 4 + 8:  # before decoding takes the memory
            raise VerificationError(
                "", server_problem(uri, Rule.READ_BUDGET, f"it has more than {limit:,} bytes")
            )
        try:
            content = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError) as error:
            raise VerificationError(
                "", server_problem(uri, Rule.READ_SHAPE, "the blob is not base64")
            ) from error
    if len(content) > limit:
        raise VerificationError(
            "", server_problem(uri, Rule.READ_BUDGET, f"it has more than {limit:,} bytes")
        )
    return content


def refusal(uri: str, error: MCPError) -> Problem:
    """Return the problem for an error answer of a server."""
    return server_problem(uri, Rule.READ_FAILED, f"the server refused: {quoted(str(error))}")
