"""A client for one server: its skills, templates, files, folders and prompts, within limits."""

import asyncio
import base64
import binascii
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

import anyio
import anyio.lowlevel
import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND
from pydantic import ConfigDict, ValidationError

from skillwire.core.json_text import weight
from skillwire.core.problem import Problem, Rule
from skillwire.core.record import Limits
from skillwire.errors import VerificationError
from skillwire.host.connections.http import wants_login
from skillwire.host.connections.traffic import Budget, TrafficLimits, limit_answer
from skillwire.protocol.claims import MAX_URI, Dialect, SkillClaim, parse_entry
from skillwire.protocol.findings import Findings, server_problem
from skillwire.protocol.messages import (
    COMPLETE,
    DIRECTORY_READ,
    PROMPTS_GET,
    PROMPTS_LIST,
    RESOURCES_LIST,
    RESOURCES_READ,
    RESOURCES_TEMPLATES,
    SKILLS_GET,
    SKILLS_LIST,
    find_declared_settings,
    reads_directories,
)
from skillwire.protocol.templates import MAX_TEMPLATES, ListedTemplates, is_template_value
from skillwire.safe_text import quoted, strip_invisible

MAX_PAGES = 1000
MAX_ENTRIES = 20_000
"""Maximum number of pages and of entries, valid or not, in one list (H2)."""
_MAX_CURSOR = 65_536
MAX_LIST = 64 * 1024 * 1024
"""Maximum memory that one list takes, estimated in bytes (H25)."""
_YIELD_EVERY = 200
"""Number of entries to parse before other tasks can run."""
_READ_OVERHEAD, _READ_FACTOR = 256 * 1024, 6
"""Bytes that a response may have besides its content, and the maximum number of bytes that JSON needs for
one byte of content.
"""
_TEMPLATE_SECONDS = 5.0
"""Maximum time to list the templates of skills, in seconds, from the start of the listing of skills."""
_TEMPLATE_BYTES = 8 * 1024 * 1024
"""Maximum size of the list of templates, in bytes."""
_MAX_COMPLETIONS, _MAX_COMPLETION, _COMPLETION_BYTES = 100, 128, 1024 * 1024
"""Maximum number of suggested values to use, of characters in each, and of bytes in the response."""
_FOLDER_SECONDS = 20.0
"""Seconds to look for the children of a folder in `resources/list`. Those found by then are returned."""
BUDGET = 256 * 1024 * 1024
"""Default maximum number of bytes to read from one server until `SkillsClient.refill` (H25)."""


class _Params(types.RequestParams):
    model_config = ConfigDict(extra="allow")


class _Result(types.Result):
    model_config = ConfigDict(extra="allow")


class _Request(types.Request[_Params, str]):
    method: str
    params: _Params


async def ask(client: Client, method: str, **params: object) -> dict[str, Any]:
    """Send a request, and return its result without `_meta`. Only the SDK checks the result.

    Raises `MCPError`, `LoginRequiredError` if the server requires a login, and `ValidationError` if the SDK
    rejects the result.
    """
    result, _ = await _send(client, method, params)
    return result


async def _send(
    client: Client, method: str, params: Mapping[str, object]
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Send a request, and return its result without `_meta`, and the `_meta`. Raises the errors of `ask`."""
    request = _Request(method=method, params=_Params.model_validate(params))
    try:
        result = await client.session.send_request(request, _Result)
    except MCPError as error:
        if (login_required := wants_login(error)) is not None:
            raise login_required from error
        raise
    return dict(result.model_extra or {}), result.meta or {}


@dataclass(slots=True)
class Listing:
    """The result of a listing: the valid entries, the findings, and whether the listing is complete."""

    skills: list[SkillClaim] = field(default_factory=list[SkillClaim])
    findings: Findings = field(default_factory=Findings)
    complete: bool = True
    dialect: Dialect | None = None
    """The dialect in which the server lists skills; None if no skill was found in any dialect."""
    templates: ListedTemplates = field(default_factory=ListedTemplates)
    """Templates, each for many skills. A problem with a template does not make the listing incomplete."""
    _seen: set[str] = field(default_factory=set[str], repr=False)

    def take(self, parsed: "SkillClaim | list[Problem]") -> None:
        """Add a parsed entry: the skill, or findings if the entry is invalid or a duplicate."""
        if not isinstance(parsed, SkillClaim):
            self.findings.add(*parsed)
        elif parsed.uri in self._seen:
            self.findings.add(server_problem(parsed.uri, Rule.ENTRY_TWICE, "it is listed twice"))
        else:
            self._seen.add(parsed.uri)
            self.skills.append(parsed)

    def end(self, finding: Problem) -> None:
        """Mark the listing as incomplete, and add the reason as a finding."""
        self.complete = False
        self.findings.add(finding)


class SkillsClient:
    """Lists and reads the skills of one server, over a client of the SDK. Nothing is cached (H15).

    Every method that sends a request may raise `LoginRequiredError`, besides the errors that it names.
    """

    def __init__(
        self,
        client: Client,
        limits: Limits | None = None,
        budget: int = BUDGET,
        *,
        legacy_flags: bool = False,
        traffic: TrafficLimits | None = None,
    ) -> None:
        """Create a client. `budget` limits the bytes of all reads until `refill`.

        With `legacy_flags`, the extension and its settings may also be declared where early drafts declared
        them.
        """
        self._client = client
        self._traffic = traffic or TrafficLimits()
        self._legacy_flags = legacy_flags
        self.limits = limits or Limits()
        self._budget = self._left = budget
        self._templates_are_slow = False
        """Whether a listing of templates exceeded its time limit. Then templates are not requested again."""

    @property
    def declared(self) -> Mapping[str, Any] | None:
        """The extension settings that the server declares; None if it declares none (H1)."""
        capabilities = self._client.server_capabilities
        return find_declared_settings(
            capabilities.extensions, capabilities.experimental if self._legacy_flags else None
        )

    @property
    def reads_directories(self) -> bool:
        """Whether `read_directory` may be called, because the server declares exactly `true` (H1)."""
        return reads_directories(self.declared, legacy_flags=self._legacy_flags)

    @property
    def declares_legacy(self) -> bool:
        """Whether the extension, or its `directoryRead`, is declared only where early drafts declared it."""
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
        """Return the skills in all pages of `skills/list`, and the templates that the server lists.

        An invalid entry does not hide others (H5). Raises `VerificationError` or `MCPError`.
        """
        listing = Listing(dialect=Dialect.FINAL)
        async with self.listing_templates() as templates:
            async for entry in self.entries(listing):
                listing.take(parse_entry(entry, self.limits))
            listing.templates = await templates
        return listing

    @asynccontextmanager
    async def listing_templates(self) -> "AsyncGenerator[asyncio.Task[ListedTemplates]]":
        """Yield a task that lists templates while the caller lists skills.

        The task turns its errors into findings. It is cancelled at the end of the block.
        """
        task = asyncio.create_task(self._list_templates())
        try:
            yield task
        finally:
            task.cancel()
            with anyio.CancelScope(shield=True):  # the task ends at once
                await asyncio.wait([task])

    async def _list_templates(self) -> ListedTemplates:
        """Return the templates in `resources/templates/list` that arrive in time. Never raises."""
        found = ListedTemplates()
        if not self.offers_resources or self._templates_are_slow:
            return found
        try:
            with anyio.fail_after(_TEMPLATE_SECONDS):
                await self._take_templates(found)
        except TimeoutError:
            self._templates_are_slow = True  # do not delay the next list, too
            found.fail(f"the templates of skills were not listed in {_TEMPLATE_SECONDS:g} seconds")
        except VerificationError as error:
            found.fail(error.problems[0].message)
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND:
                found.fail(refusal(RESOURCES_TEMPLATES, error).message)
        except Exception as error:  # noqa: BLE001 - malformed answers make the SDK raise many kinds
            found.fail(f"the answer could not be used: {quoted(str(error) or type(error).__name__)}")
        return found

    async def _take_templates(self, found: ListedTemplates) -> None:
        listing = Listing()
        entries = self._entries(RESOURCES_TEMPLATES, "resourceTemplates", {}, listing, _TEMPLATE_BYTES)
        async for entry in entries:
            if found.is_full:
                found.fail(f"it has more than {MAX_TEMPLATES:,} templates of skills; the rest is ignored")
                return
            found.take(entry)
        for finding in listing.findings.kept:  # the list was cut off
            found.fail(finding.message)

    async def complete(self, uri_template: str, parameter: str, typed: str) -> "list[str]":
        """Return the values that the server suggests for a parameter. Show the values to people only.

        Values that are long, invalid, or partly invisible are left out. If the server declares no
        completions, there are no values. Raises `MCPError` or `VerificationError`.
        """
        if self._client.server_capabilities.completions is None:
            return []
        params = {
            "ref": {"type": "ref/resource", "uri": uri_template},
            "argument": {"name": parameter, "value": typed},
        }
        answer = (await self._ask(COMPLETE, params, uri_template, _COMPLETION_BYTES)).get("completion")
        values: object = cast("dict[str, object]", answer).get("values") if isinstance(answer, dict) else None
        found = cast("list[object]", values)[:_MAX_COMPLETIONS] if isinstance(values, list) else []
        return [each for each in found if isinstance(each, str) and _is_shown_whole(each)]

    def entries(self, listing: Listing) -> AsyncGenerator[object]:
        """Yield each entry of `skills/list`, unchecked. Raises `VerificationError` or `MCPError`.

        If the list exceeds a limit, `listing` is marked as incomplete, and the reason becomes a finding.
        """
        return self._entries(SKILLS_LIST, "skills", {}, listing)

    def resources(self, listing: Listing) -> AsyncGenerator[object]:
        """Yield each entry of `resources/list`, unchecked. Raises `VerificationError` or `MCPError`.

        If the list exceeds a limit, `listing` is marked as incomplete, and the reason becomes a finding.
        """
        return self._entries(RESOURCES_LIST, "resources", {}, listing)

    async def get(self, uri: str, dialect: Dialect = Dialect.FINAL) -> SkillClaim:
        """Return the skill at `uri`, listed or not (H3). Raises `VerificationError` or `MCPError`.

        `dialect` is the form of the response: `FINAL` or `DRAFT_C`.
        """
        result = await self._ask(SKILLS_GET, {"uri": uri}, uri)
        parsed = parse_entry(result.get("skill"), self.limits, dialect)
        if not isinstance(parsed, SkillClaim):
            raise VerificationError("", parsed[0])
        if parsed.uri != uri:
            message = f"the server answered `skills/get` with another skill, {quoted(parsed.uri)}"
            raise VerificationError("", server_problem(uri, Rule.ENTRY_OTHER, message))
        return parsed

    async def read(self, uri: str, size: int | None = None, *, max_bytes: int | None = None) -> bytes:
        """Return the bytes at `uri`.

        The response must be one block with exactly that URI, within limits (H25). Every read, also one in
        progress, reduces the budget. Nothing is requested if the listed `size` exceeds the remaining budget.
        `max_bytes` limits the whole response; the default depends on `size`, or else on the remaining budget.
        Raises `VerificationError` or `MCPError`.
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
        """Return the content of every block in the response, by the block's URI.

        Use this method only for servers that predate the extension. Other servers send one block. Raises
        `VerificationError` or `MCPError`.
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
        """Return the entries of `resources/directory/read`, each a direct child of the folder.

        Raises `VerificationError` or `MCPError`.
        """
        listing, children = Listing(), list[Mapping[str, Any]]()
        async for child in self._entries(DIRECTORY_READ, "resources", {"uri": uri}, listing):
            if not _is_child(uri, child):
                raise VerificationError(
                    "", server_problem(uri, Rule.LIST_SHAPE, "an entry is not a direct child of the folder")
                )
            children.append(cast("Mapping[str, Any]", child))
        listing.findings.raise_first()
        return children

    async def list_folder(self, uri: str) -> "list[str]":
        """Return the URIs of the direct children of a folder.

        The URIs come from `resources/directory/read` if the server declares it (H1). Otherwise, they are
        derived from the URIs in `resources/list` that arrive in time and are below the folder. Raises
        `MCPError`, or `VerificationError`, for instance if there are no such URIs.
        """
        if self.reads_directories:
            return [str(child["uri"]) for child in await self.read_directory(uri)]
        children: dict[str, None] = {}
        if self.offers_resources:
            # Resources that were listed before a timeout or an invalid page still count.
            with anyio.move_on_after(_FOLDER_SECONDS), suppress(VerificationError):
                async for resource in self.resources(Listing()):
                    if (child := _child_above(uri, resource)) is not None:
                        children[child] = None
                    if len(children) == self.limits.files:
                        break
        if not children:
            message = "the server lists no folders; read the files that the text of the skill names"
            raise VerificationError("", server_problem(uri, Rule.READ_FAILED, message))
        return list(children)

    async def prompts(self) -> AsyncGenerator[Mapping[str, Any]]:
        """Yield every valid prompt in `prompts/list`. Raises `VerificationError` or `MCPError`."""
        listing = Listing()
        async for prompt in self._entries(PROMPTS_LIST, "prompts", {}, listing):
            if isinstance(prompt, dict):
                yield cast("Mapping[str, Any]", prompt)
        listing.findings.raise_first()

    async def prompt(self, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the result of `prompts/get` for a name, and its `_meta`.

        Raises `VerificationError` or `MCPError`.
        """
        return await self._ask_with_meta(PROMPTS_GET, {"name": name}, name)

    @asynccontextmanager
    async def _reserve(self, uri: str, size: int) -> AsyncGenerator[None]:
        """Subtract `size` bytes from the budget during the block, or raise `VerificationError`."""
        if size > self._left:
            raise VerificationError("", self._budget_error(uri))
        self._left -= size
        try:
            yield
        finally:  # the caller subtracts the real size before any other task runs
            self._left += size

    async def _blocks(self, uri: str, max_bytes: int | None = None) -> "list[dict[str, Any]]":
        blocks = (await self._ask(RESOURCES_READ, {"uri": uri}, uri, max_bytes)).get("contents")
        if not isinstance(blocks, list):
            raise VerificationError(
                "", server_problem(uri, Rule.READ_SHAPE, "the answer has no list `contents`")
            )
        return [each if isinstance(each, dict) else {} for each in cast("list[Any]", blocks)]

    def _decode_block(self, uri: str, block: Mapping[str, Any]) -> bytes:
        """Subtract a block's size from the budget, and return its content. Raises `VerificationError`."""
        weight, left = _block_size(block), self._left
        self._left -= max(weight, 1)  # empty files also count
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
        result, _ = await self._ask_with_meta(method, params, place, max_bytes, budget)
        return result

    async def _ask_with_meta(
        self,
        method: str,
        params: Mapping[str, Any],
        place: str,
        max_bytes: int | None = None,
        budget: Budget | None = None,
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        with limit_answer(max_bytes, budget) as expected:
            try:
                return await _send(self._client, method, params)
            except ValidationError as error:  # the SDK validates the shape of some responses
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
        self,
        method: str,
        key: str,
        params: Mapping[str, Any],
        listing: Listing,
        max_bytes: int | None = None,
    ) -> AsyncGenerator[object]:
        """Yield each entry of each page, up to the limits of entries and bytes (H2, H25)."""
        count, left = 0, MAX_LIST
        async for page in self._pages(method, params, listing, max_bytes):
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
        self, method: str, params: Mapping[str, Any], listing: Listing, max_bytes: int | None = None
    ) -> AsyncGenerator[Mapping[str, Any]]:
        """Yield each page, within limits. An empty cursor is valid. A repeated cursor ends the list (H2)."""
        cursors: set[str] = set()
        page_params, budget = dict(params), Budget(max_bytes or self._traffic.listing_bytes)
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
    """Return whether the entry `child` has the URI of a direct child of `folder`."""
    uri = cast("Mapping[str, Any]", child).get("uri") if isinstance(child, dict) else None
    below = f"{folder.rstrip('/')}/"
    if not isinstance(uri, str) or not uri.startswith(below):
        return False
    name = unquote(uri.removeprefix(below).removesuffix("/"))  # a folder may end in a slash
    return name not in {"", ".", ".."} and not {"/", "\\", "\0"} & set(name)


def _child_above(folder: str, resource: object) -> str | None:
    """Return the URI of the direct child of `folder` that is or contains a listed resource.

    Return None if the resource is not below the folder, or if its URI is invalid.
    """
    uri = cast("Mapping[str, Any]", resource).get("uri") if isinstance(resource, dict) else None
    below = f"{folder.rstrip('/')}/"
    if not isinstance(uri, str) or not uri.startswith(below) or len(uri) > MAX_URI:
        return None
    child = f"{below}{uri.removeprefix(below).partition('/')[0]}"
    return child if _is_child(folder, {"uri": child}) else None


def _is_shown_whole(value: str) -> bool:
    """Return whether a suggested value is short, valid for a parameter, and completely visible."""
    return (
        len(value) <= _MAX_COMPLETION
        and is_template_value(value)
        and strip_invisible(value, _MAX_COMPLETION) == value
    )


def _block_size(block: Mapping[str, Any]) -> int:
    """Return the number of bytes of content in a block, even if the block is invalid."""
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
        if len(encoded) > limit // 3 * 4 + 8:  # check before decoding, which takes memory
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
    """Convert a server's error response to a problem with the requested URI or method."""
    said = str(error).replace("`", "'")  # `quoted` adds the outer backticks
    return server_problem(uri, Rule.READ_FAILED, f"the server refused: {quoted(said)}")
