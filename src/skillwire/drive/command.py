"""`skillwire drive`: fetch the paths of connected programs over MCP, and print them as a tree or as JSON."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import httpx2
import orjson
from cyclopts import Parameter

from skillwire.config.settings import token_from
from skillwire.core.http_body import BodyTooLargeError, BoundedBody
from skillwire.core.json_text import JsonTooLargeError, load_bounded_json
from skillwire.core.names import find_close_matches
from skillwire.core.record import Json
from skillwire.drive.fields import JsonFields, ShapeError
from skillwire.drive.paths import SKILL_LEAVES
from skillwire.drive.transports import ServerAddress
from skillwire.errors import SkillwireError
from skillwire.safe_text import collapse_lines, quoted
from skillwire.terminal.options import SELECTION, SERVERS, json_of
from skillwire.terminal.output import print_error, print_json, print_line, stderr_console

_VERSION = "2026-07-28"
_META = "io.modelcontextprotocol/"
_TOOL = "listPaths"
_DEEP = 1_000_000
_MAX_PATHS = 100_000
_TIMEOUT = 30.0
_MAX_ANSWER = 64 * 1024 * 1024
"""Maximum size of a response in bytes.

This is four times `MAX_ANSWERS` of the tool, because a response contains the list as JSON and as quoted text.
"""
_MAX_VALUES = 1_000_000
"""Maximum number of JSON values in a response."""


@dataclass(frozen=True, slots=True)
class ListedPath:
    """A path as the tool `listPaths` returns it."""

    client_id: str
    client_name: str
    type: str
    path: str
    method: str
    description: str

    @classmethod
    def read(cls, listed: Mapping[str, object]) -> "ListedPath":
        """Parse a path that a server sent. Missing fields are empty."""
        names = ("clientId", "clientName", "type", "path", "method", "description")
        return cls(*(str(listed.get(name) or "") for name in names))


@dataclass(slots=True)
class _Node:
    """A line of the tree: a client or a segment of its paths, with a description and children."""

    label: str
    description: str = ""
    children: dict[str, "_Node"] = field(default_factory=dict[str, "_Node"])

    def child(self, label: str) -> "_Node":
        """Return the child with this label. Creates it if it is missing."""
        return self.children.setdefault(label, _Node(label))


def tree_lines(paths: Sequence[ListedPath]) -> Iterator[str]:
    """Yield the lines of one tree for each client. A skill is shown as its folder, without `skill.md`."""
    clients: dict[str, list[ListedPath]] = {}
    for each in paths:
        clients.setdefault(each.client_id, []).append(each)
    for client_id, own in clients.items():
        root = _Node(client_id, own[0].client_name)
        for each in own:
            _add(root, each)
        yield from _lines(root)


def _add(root: _Node, listed: ListedPath) -> None:
    *folder, last = listed.path.strip("/").split("/")
    node = root
    for segment in folder:
        node = node.child(segment)
    if last in SKILL_LEAVES:
        if node is root:  # the root shows the name of the client in place of a description
            node = node.child(last)
        node.description = listed.description
        return
    label = f"{last} ({listed.method})" if listed.method else last
    node.child(label).description = listed.description


def _lines(root: _Node) -> Iterator[str]:
    rows = [("", root), *_below(root, "")]
    width = max(len(indent) + len(node.label) for indent, node in rows)
    for indent, node in rows:
        shown = f"{indent}{collapse_lines(node.label)}"
        yield f"{shown:<{width}}  {collapse_lines(node.description)}".rstrip()


def _below(node: _Node, indent: str) -> Iterator[tuple[str, _Node]]:
    children = list(node.children.values())
    for child in children:
        last = child is children[-1]
        yield f"{indent}{'└── ' if last else '├── '}", child
        yield from _below(child, f"{indent}{'    ' if last else '│   '}")


class ListingError(SkillwireError):
    """The complete list of paths could not be fetched from the server."""


def listed_paths(address: ServerAddress, client_id: str | None, token: str | None) -> list[ListedPath]:
    """Return every path of the client `client_id`, or of all clients if it is None.

    Raises `ListingError`.
    """
    url = f"{address.url.replace('ws', 'http', 1) if address.over_socket else address.url}/mcp"
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": _VERSION,
        "mcp-method": "tools/call",
        "mcp-name": _TOOL,
        **({} if token is None else {"authorization": f"Bearer {token}"}),
    }
    try:
        with (
            httpx2.Client(timeout=_TIMEOUT, trust_env=not address.local) as http,
            http.stream("POST", url, json=_request(client_id), headers=headers) as answer,
        ):
            content = _bounded(url, answer.iter_bytes())
    except httpx2.TransportError as error:
        hint = "is it running? start it with `skillwire serve --http 8765 --drive`"
        raise ListingError(f"cannot reach {quoted(url)}: {error}", hint) from error
    if answer.status_code == 401:
        raise ListingError(
            "the server requires a token", "name the variable that contains it: `--token-env VARIABLE`"
        )
    return _paths(url, content)


def _bounded(url: str, chunks: Iterable[bytes]) -> bytes:
    """Return the body of a response. Raises `ListingError` if it is too large."""
    body = BoundedBody(_MAX_ANSWER)
    try:
        for chunk in chunks:
            body.add(chunk)
    except BodyTooLargeError as error:
        message = f"the response of {quoted(url)} is larger than {_MAX_ANSWER:,} bytes"
        raise ListingError(message, "choose one program with `--client PROGRAM`") from error
    return bytes(body)


def _request(client_id: str | None) -> dict[str, Json]:
    arguments: dict[str, Json] = {"depth": _DEEP}
    if client_id is not None:
        arguments["clientId"] = client_id
    meta: dict[str, Json] = {
        f"{_META}protocolVersion": _VERSION,
        f"{_META}clientInfo": {"name": "skillwire", "version": "1"},
        f"{_META}clientCapabilities": {},
    }
    params: dict[str, Json] = {"name": _TOOL, "arguments": arguments, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def _paths(url: str, answer: bytes) -> list[ListedPath]:
    try:
        message = JsonFields.of(load_bounded_json(answer, max_values=_MAX_VALUES))
        content = message.part("result").part("structuredContent")
        left_out = content.text_or_none("leftOut")
        paths = [ListedPath.read(part.values) for part in content.parts("paths", _MAX_PATHS)]
    except (orjson.JSONDecodeError, JsonTooLargeError, ShapeError) as error:
        hint = "is it an MCP server with live skills? `skillwire serve --http 8765 --drive` is one"
        raise ListingError(f"{quoted(url)} returned no list of live paths", hint) from error
    if left_out is not None:  # a partial tree would look like the complete tree
        raise ListingError(
            f"{quoted(url)} has more paths than fit into one response",
            "choose one program with `--client PROGRAM`",
        )
    return paths


def drive(
    action: Annotated[
        Literal["list"], Parameter(name="ACTION", help="`list` prints a tree. It is the only action.")
    ],
    url: Annotated[str, Parameter(name="URL", help="URL of a server that was started with `--drive`.")],
    /,
    *,
    client: Annotated[
        str | None,
        Parameter(group=SELECTION, metavar="PROGRAM", help="Show only this program, given by its client id."),
    ] = None,
    token_env: Annotated[
        str | None,
        Parameter(group=SERVERS, metavar="VARIABLE", help="Environment variable with the server's token."),
    ] = None,
    json: Annotated[bool, json_of("[{client, type, path, method, description}]")] = False,
) -> int:
    """Show the paths that connected programs provide, as a tree with descriptions.

    For example:

    ```
    skillwire drive list http://127.0.0.1:8765
    skillwire drive list http://127.0.0.1:8765 --client orders
    ```
    """
    del action  # `list` is the only action
    try:
        address, token = ServerAddress.parse(url), token_from(token_env, os.environ)
        paths = listed_paths(address, client, token)
        if client and not paths:
            raise _no_program(client, listed_paths(address, None, token))
    except ListingError as error:
        print_error(str(error), hint=error.hint)
        return 1
    if json:
        print_json([_shown(each) for each in paths])
        return 0
    for line in tree_lines(paths):
        print_line(line)
    if not paths:
        stderr_console().print("no program has registered a path")
    return 0


def _no_program(client_id: str, paths: Iterable[ListedPath]) -> ListingError:
    close = find_close_matches(client_id, {each.client_id for each in paths}, 1)
    hint = f"did you mean {quoted(close[0])}? " if close else ""
    message = f"no program {quoted(client_id)} has registered a path"
    return ListingError(message, f"{hint}without `--client`, all programs are listed")


def _shown(listed: ListedPath) -> dict[str, str]:
    return {
        "client": listed.client_id,
        "type": listed.type,
        "path": listed.path,
        "method": listed.method,
        "description": listed.description,
    }
