"""The response cache of attached skills: it gives the same answers, and bypasses nothing of the server."""

import hashlib
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest
from fastmcp import Context, FastMCP
from fastmcp.server.middleware import Middleware
from mcp import Client
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import ConfigDict

from skillwire import MemorySource, ServeOptions, attach
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from tests.support.clients import ERAS, ask, skill
from tests.support.fastmcp_servers import client_of, fastmcp_server, names_of
from tests.support.skills import write_skill
from tests.unit.authoring.test_attaching import lowlevel_server, sdk_server

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)
every_server = pytest.mark.parametrize("make", [lowlevel_server, sdk_server, fastmcp_server])
sdk_servers = pytest.mark.parametrize("make", [lowlevel_server, sdk_server])

URI = "skill://team/one/SKILL.md"
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("skills/list", {}),
    ("skills/list", {"cursor": "none"}),
    ("skills/list", {"unknown": 1}),
    ("skills/get", {"uri": URI}),
    ("skills/get", {"uri": "skill://none/SKILL.md"}),
    ("skills/get", {}),
    ("resources/read", {"uri": URI}),
    ("resources/read", {"uri": URI, "_meta": {"traceparent": "00-1-2-01"}}),
    ("resources/read", {"uri": URI, "_meta": {"unknown": 1}}),
    ("resources/read", {"uri": "skill://team/one/data/empty"}),
    ("resources/read", {"uri": "skill://team/one/data/image.png"}),
    ("resources/read", {"uri": "skill://team/one/none.md"}),
    ("resources/read", {"uri": "skill://team/one"}),
    ("resources/read", {"uri": "skillwire://problems"}),
    ("resources/read", {"uri": "host://readme"}),
    ("resources/read", {"uri": 1}),
]


class Watched(MemorySource):
    """Skills in memory. Counts how often a file is read."""

    def __init__(self) -> None:
        files = {"data/empty": b"", "data/image.png": b"\x89PNG\r\n\0"}
        more = 'license: "Ä"\nmetadata:\n  team: billing\n'
        super().__init__([skill("team/one", more, files), skill("team/two")])
        self.reads = 0

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        self.reads += 1
        return await super().read(entry, file)


class _Request(types.Request[Any, Any]):
    method: str
    params: Any = None


class _Result(types.Result):
    model_config = ConfigDict(extra="allow")


def client_for(server: Any, mode: Any = "auto") -> AbstractAsyncContextManager[Client]:
    if isinstance(server, FastMCP):
        return client_of(cast("FastMCP[Any]", server), mode)
    return Client(server, mode=mode)


def inner(server: Any) -> Server[Any]:
    """Return the low-level server of an SDK server."""
    if isinstance(server, MCPServer):
        return cast("Any", server)._lowlevel_server  # noqa: SLF001 - there is no public name
    return server


async def see(context: Any, call_next: CallNext) -> HandlerResult:
    return await call_next(context)


def close_cache(server: Any) -> None:
    """Add middleware that could see every read, so that the cache may not answer."""
    if isinstance(server, FastMCP):
        cast("FastMCP[Any]", server).add_middleware(Middleware())
    else:
        inner(server).middleware.append(cast("Any", see))


async def whole_result(client: Client, method: str, params: dict[str, Any]) -> Any:
    """Return a result with everything that it contains, or the error."""
    try:
        result = await client.session.send_request(_Request(method=method, params=params), _Result)
    except MCPError as error:
        return error.error
    return result.model_dump(mode="json", by_alias=True)


async def read_often(client: Client, uri: str = URI) -> str:
    """Read a file until the cache could answer, and return its text."""
    read = [await ask(client, "resources/read", uri=uri) for _ in range(4)]
    assert read[1:] == read[:-1]
    return str(read[-1]["contents"][0]["text"])


@every_era
@every_server
async def test_repeated_answers_equal_those_of_a_server_without_cache(make: Any, mode: Any) -> None:
    with_cache, without = make(), make()
    attach(with_cache, Watched())
    attach(without, Watched())
    close_cache(without)
    async with client_for(with_cache, mode) as one, client_for(without, mode) as other:
        for method, params in REQUESTS:
            expected = await whole_result(other, method, params)
            for _ in range(4):
                assert await whole_result(one, method, params) == expected, (method, params)


@every_era
@every_server
async def test_repeated_read_does_not_read_the_source_again(make: Any, mode: Any) -> None:
    server, source = make(), Watched()
    attach(server, source)
    async with client_for(server, mode) as client:
        await read_often(client)
        before = source.reads
        await read_often(client)
        assert source.reads == before
        close_cache(server)
        await read_often(client)
        assert source.reads > before


@sdk_servers
@pytest.mark.parametrize("at", [0, None])
async def test_middleware_of_sdk_server_sees_every_request(make: Any, at: int | None) -> None:
    seen: list[str] = []

    async def watch(context: Any, call_next: CallNext) -> HandlerResult:
        seen.append(context.method)
        result: Any = await call_next(context)
        if context.method == "resources/read":
            result["contents"][0]["text"] += f" {len(seen)}"
        return result

    server = make()
    attach(server, Watched())
    middleware = inner(server).middleware
    middleware.insert(len(middleware) if at is None else at, cast("Any", watch))
    async with Client(server) as client:
        seen.clear()
        texts = [(await ask(client, "resources/read", uri=URI))["contents"][0]["text"] for _ in range(4)]
    assert seen == ["resources/read"] * 4
    # What middleware does with one result does not show in the next.
    assert [text.rpartition("\n")[2] for text in texts] == [" 1", " 2", " 3", " 4"]


@sdk_servers
async def test_handler_that_replaces_ours_is_used(make: Any) -> None:
    server = make()
    attach(server, Watched())
    async with Client(server) as client:
        await read_often(client)

        async def read(_context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
            return types.ReadResourceResult(
                contents=[types.TextResourceContents(uri=params.uri, text="theirs")]
            )

        inner(server).add_request_handler("resources/read", types.ReadResourceRequestParams, read)
        assert await read_often(client) == "theirs"


async def test_middleware_of_fastmcp_sees_every_read() -> None:
    class Refuses(Middleware):
        async def on_read_resource(self, context: Any, call_next: Any) -> Any:
            raise MCPError(-32602, f"not {context.message.uri}")

    server = fastmcp_server()
    attach(server, Watched())
    async with client_of(server) as client:
        await read_often(client)
        server.add_middleware(Refuses())
        with pytest.raises(MCPError, match="not skill://team/one"):
            await ask(client, "resources/read", uri=URI)


@every_era
async def test_skill_hidden_in_a_session_is_not_read_from_cache(mode: Any) -> None:
    server = fastmcp_server()
    attach(server, Watched())

    @server.tool
    async def hide(context: Context) -> None:
        await context.disable_components(names={URI})

    @server.tool
    async def show(context: Context) -> None:
        await context.enable_components(names={URI})

    assert hide
    assert show
    async with client_of(server, mode) as client:
        await read_often(client)
        await client.call_tool("hide", {})
        for _ in range(3):
            assert await names_of(client) == ["skill://team/two/SKILL.md"]
            with pytest.raises(MCPError):
                await ask(client, "resources/read", uri=URI)
        await client.call_tool("show", {})
        await read_often(client)


async def test_skill_disabled_and_enabled_in_turns_shows_in_turns() -> None:
    server, source = fastmcp_server(), Watched()
    attach(server, source)
    async with client_of(server) as client:
        for _ in range(2):
            server.disable(names={URI})
            assert await names_of(client) == ["skill://team/two/SKILL.md"]
            server.enable(names={URI})
            assert await names_of(client) == [URI, "skill://team/two/SKILL.md"]


async def test_new_skills_are_hidden_by_earlier_rules() -> None:
    server, source = fastmcp_server(), Watched()
    attach(server, source)
    server.disable(names={URI, "skill://team/three/SKILL.md"})
    async with client_of(server) as client:
        assert await names_of(client) == ["skill://team/two/SKILL.md"]
        source.put(skill("team/three"))
        source.put(skill("team/four"))
        names: list[str] = []
        with anyio.fail_after(30):
            while "skill://team/four/SKILL.md" not in names:
                names = await names_of(client)
                await anyio.lowlevel.checkpoint()
        assert names == ["skill://team/two/SKILL.md", "skill://team/four/SKILL.md"]


async def test_middleware_for_lists_still_hides_skills() -> None:
    class Hides(Middleware):
        async def on_list_resources(self, context: Any, call_next: Any) -> Any:
            return [each for each in await call_next(context) if str(each.uri) != URI]

    server = fastmcp_server()
    attach(server, Watched())
    async with client_of(server) as client:
        await read_often(client)
        server.add_middleware(Hides())
        assert await names_of(client) == ["skill://team/two/SKILL.md"]
        with pytest.raises(MCPError):
            await ask(client, "resources/read", uri=URI)


@pytest.mark.rule("S19")
@every_server
async def test_edit_is_read_at_once_with_matching_digest(make: Any, tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one", {"a.md": "first"})
    server = make()
    attach(server, tmp_path)
    async with client_for(server) as client:
        for text in ("second", "the third"):
            await read_often(client, "skill://one/a.md")
            (folder / "a.md").write_text(text, encoding="utf-8")
            assert await read_often(client, "skill://one/a.md") == text
            entry = (await ask(client, "skills/get", uri="skill://one/SKILL.md"))["skill"]
            digests = {each["uri"]: each["digest"] for each in entry["resources"]}
            assert digests["skill://one/a.md"] == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@sdk_servers
async def test_cache_works_with_another_scheme(make: Any) -> None:
    server, source = make(), Watched()
    attach(server, source, options=ServeOptions(scheme="github", authority="acme/skills"))
    async with Client(server) as client:
        uri = "github://acme/skills/team/one/SKILL.md"
        await read_often(client, uri)
        before = source.reads
        await read_often(client, uri)
        assert source.reads == before
