"""A skill that strict clients refuse is left out of the list, and offered in every other way."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer

from skillwire import FolderSource, Library, ServeOptions, Skill, SkillServer, attach
from skillwire.core.conformance import nonconformities
from skillwire.features.base import Answer, Call, all_methods
from skillwire.host.dialects.client import ask
from skillwire.library.compose import LabelledScan, compose
from skillwire.server import skills_server
from skillwire.server.serve_options import all_features
from skillwire.sources import Rule
from tests.support.bridges import open_bridge
from tests.support.clients import ERAS
from tests.support.fastmcp_servers import client_of, fastmcp_server
from tests.support.links import Wire
from tests.support.listening import listening
from tests.support.peers import MODERN, StdioPeer, skillwire
from tests.support.skills import write

GOOD = {"name": "odd", "description": "Does one thing."}

REFUSED: dict[str, tuple[dict[str, object], list[str]]] = {
    "a long description": ({"description": "x" * 1025}, []),
    "compatibility null": ({"compatibility": None}, []),
    "compatibility empty": ({"compatibility": ""}, []),
    "compatibility long": ({"compatibility": "x" * 501}, []),
    "compatibility list": ({"compatibility": ["x"]}, []),
    "compatibility number": ({"compatibility": 1}, []),
    "metadata null": ({"metadata": None}, []),
    "metadata text": ({"metadata": "x"}, []),
    "metadata list": ({"metadata": ["x"]}, []),
    "metadata number": ({"metadata": {"a": 1}}, []),
    "metadata nested": ({"metadata": {"a": {"b": "c"}}}, []),
    "metadata null value": ({"metadata": {"a": None}}, []),
    "license null": ({"license": None}, []),
    "license false": ({"license": False}, []),
    "license mapping": ({"license": {"spdx": "MIT"}}, []),
    "tools null": ({"allowed-tools": None}, []),
    "tools list": ({"allowed-tools": ["Read"]}, []),
    "tools mapping": ({"allowed-tools": {"Read": True}}, []),
    "a blank description": ({"description": " \u00a0"}, []),
    "a description that is no text": ({"description": None}, []),
    "a prototype": ({"__proto__": {}}, []),
    "no prototype": ({"__proto__": None}, []),
    "a device as a name": ({"name": "aux"}, []),
    **{
        f"file {path!r}": ({}, [path])
        for path in (
            "aux",
            "aux.md",
            "sub/AUX.tar.gz",
            "con/a.md",
            "NUL",
            "com1.txt",
            "lpt9",
            "a:b.md",
            "sub/c:d",
            "a?",
            "a*b",
            'a"b',
            "a|b",
            "<a>",
            "end.",
            "end ",
            "folder./a.md",
            "folder /a.md",
            "/".join(["d" * 100] * 11),
        )
    },
}
ACCEPTED: dict[str, tuple[dict[str, object], list[str]]] = {
    "a full description": ({"description": "x" * 1024}, []),
    "a full description of emoji": ({"description": "\U0001f600" * 1024}, []),
    "full compatibility": ({"compatibility": "é" * 500}, []),
    "empty metadata": ({"metadata": {}}, []),
    "empty metadata value": ({"metadata": {"a": ""}}, []),
    "empty license": ({"license": ""}, []),
    "empty tools": ({"allowed-tools": ""}, []),
    "tools with commas": ({"allowed-tools": "Read, Write"}, []),
    "unknown fields": ({"x": None, "y": [1, {"z": 2.5, "__proto__": {}}], "__proto__": "z"}, []),
    **{
        f"file {path!r}": ({}, [path])
        for path in (
            "auxiliary.md",
            "com0",
            "com¹",
            "CONIN$",
            "aux .md",
            "con-dir/a.md",
            "ü/ñ %23#.md",
        )
    },
}


def spoiled(case: tuple[dict[str, object], list[str]]) -> bool:
    fields, paths = case
    return bool(nonconformities({**GOOD, **fields}, ["SKILL.md", *paths]))


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_skill_that_strict_clients_refuse_is_nonconforming(case: tuple[dict[str, object], list[str]]) -> None:
    assert spoiled(case)


@pytest.mark.parametrize("case", ACCEPTED.values(), ids=ACCEPTED)
def test_skill_that_every_client_accepts_conforms(case: tuple[dict[str, object], list[str]]) -> None:
    assert not spoiled(case)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=6))
def test_paths_get_the_same_result_together_and_alone(paths: list[str]) -> None:
    alone = any(nonconformities({}, [path]) for path in paths)
    assert bool(nonconformities({}, paths)) == alone


def odd(fields: str = "") -> str:
    return f"---\nname: odd\ndescription: Odd. Use when needed.\n{fields}---\n\n# Odd\n"


def folder(tmp_path: Path, fields: str) -> Path:
    good = {f"{name}/SKILL.md": f"---\nname: {name}\ndescription: Good.\n---\n" for name in ("alpha", "zeta")}
    return write(tmp_path / "skills", {**good, "odd/SKILL.md": odd(fields), "odd/notes.md": "n"})


class Served:
    """A folder that is served in process."""

    def __init__(self, root: Path, *, list_nonconforming: bool = False) -> None:
        self.library = Library([FolderSource(root)])
        anyio.run(self.library.load)
        self.features = all_features(self.library, ServeOptions(list_nonconforming=list_nonconforming))
        self._methods = all_methods(self.features)

    def ask(self, method: str, **params: object) -> dict[str, object]:
        async def asked() -> Answer:
            return await self._methods[method](Call(params))

        return dict(anyio.run(asked).result)

    def listed(self) -> list[str]:
        return [entry["uri"] for entry in self.ask("skills/list")["skills"]]  # type: ignore[index, union-attr]

    def rescan_source(self) -> None:
        async def look() -> None:
            await self.library.rescan_source(self.library.sources[0])

        anyio.run(look)


ODD = "skill://odd/SKILL.md"
EVERYTHING = ["skill://alpha/SKILL.md", ODD, "skill://zeta/SKILL.md"]
GOOD_ONES = [uri for uri in EVERYTHING if uri != ODD]
FAULT = "metadata:\n  version: 2\n"


@pytest.mark.rule("S11", "S13")
def test_a_nonconforming_skill_is_offered_everywhere_but_in_lists(tmp_path: Path) -> None:
    server = Served(folder(tmp_path, FAULT))
    assert server.listed() == GOOD_ONES
    entry = server.ask("skills/get", uri=ODD)["skill"]
    assert entry["frontmatter"]["metadata"] == {"version": 2}  # type: ignore[index]
    resources = json.dumps(server.ask("resources/list"))
    assert ODD in resources
    assert server.ask("resources/read", uri=ODD)["contents"]
    assert server.ask("resources/directory/read", uri="skill://odd")["resources"]
    assert "# Odd" in json.dumps(server.ask("tools/call", name="load-skill", arguments={"name": "odd"}))
    assert server.ask("prompts/get", name="odd")["messages"]
    index = json.dumps(server.ask("resources/read", uri="skill://index.json"))
    assert "skill://alpha/" in index
    assert "skill://odd/" not in index


def test_the_problem_says_why_and_what_to_do(tmp_path: Path) -> None:
    catalog = Served(folder(tmp_path, FAULT)).library.catalog
    (problem,) = [each for each in catalog.problems if each.rule is Rule.NOT_LISTED]
    assert problem.path == "odd/SKILL.md"
    assert "`metadata` has values that are not text" in problem.message
    assert "`--list-nonconforming`" in problem.message
    assert problem.hint == "put the values of `metadata` in quotes"
    assert problem in catalog.problems_of(catalog.entries[ODD])


def test_option_lists_nonconforming_skills(tmp_path: Path) -> None:
    server = Served(folder(tmp_path, FAULT), list_nonconforming=True)
    assert server.listed() == EVERYTHING
    assert "skill://odd/" in json.dumps(server.ask("resources/read", uri="skill://index.json"))


@pytest.mark.parametrize("fault", [FAULT, "license: 2\n", "allowed-tools: [Read]\n", "compatibility: ''\n"])
def test_fixed_skill_is_listed(tmp_path: Path, fault: str) -> None:
    root = folder(tmp_path, fault)
    server = Served(root)
    changes = list[bool]()
    server.library.listen(
        lambda change: changes.append(
            any(True for each in server.features for _ in each.lists_changed(change))
        )
    )
    for text, expected in ((odd(), EVERYTHING), (odd(fault), GOOD_ONES), (odd(), EVERYTHING)):
        write(root, {"odd/SKILL.md": text})
        server.rescan_source()
        assert server.listed() == expected
    assert changes == [True, True, True]


def test_added_or_removed_file_changes_conformance(tmp_path: Path) -> None:
    root = folder(tmp_path, "")
    server = Served(root)
    assert server.listed() == EVERYTHING
    write(root, {"odd/aux.md": "x"})
    server.rescan_source()
    assert server.listed() == GOOD_ONES
    assert _composed(server.library) == server.library.catalog
    (root / "odd/aux.md").unlink()
    server.rescan_source()
    assert server.listed() == EVERYTHING
    assert _composed(server.library) == server.library.catalog


def _composed(library: Library) -> object:
    return compose([LabelledScan(label, scan) for label, scan in library.scans.items()])


def test_cursor_stays_valid_when_its_skill_is_unlisted(tmp_path: Path) -> None:
    names = [f"s{number:03}" for number in range(120)]
    files: dict[str, bytes | str] = {
        f"{name}/SKILL.md": f"---\nname: {name}\ndescription: d\n---\n" for name in names
    }
    root = write(tmp_path / "skills", files)
    server = Served(root)
    cursor = server.ask("skills/list")["nextCursor"]
    write(root, {"s099/SKILL.md": "---\nname: s099\ndescription: d\nlicense: 2\n---\n"})
    server.rescan_source()
    rest = server.ask("skills/list", cursor=cursor)["skills"]
    assert [entry["frontmatter"]["name"] for entry in rest] == names[100:]  # type: ignore[index, union-attr]


# Every way in


@asynccontextmanager
async def attached_to_sdk(root: Path, mode: Any, options: ServeOptions) -> AsyncGenerator[Client]:
    server: MCPServer[Any] = MCPServer("host", log_level="ERROR")
    attach(server, FolderSource(root), options=options)
    async with Client(server, mode=mode) as client:
        yield client


@asynccontextmanager
async def attached_to_lowlevel(root: Path, mode: Any, options: ServeOptions) -> AsyncGenerator[Client]:
    server: Server[Any] = Server("host")
    attach(server, FolderSource(root), options=options)
    async with Client(server, mode=mode) as client:
        yield client


@asynccontextmanager
async def attached_to_fastmcp(root: Path, mode: Any, options: ServeOptions) -> AsyncGenerator[Client]:
    server = fastmcp_server()
    attach(server, FolderSource(root), options=options)
    async with client_of(server, mode) as client:
        yield client


@asynccontextmanager
async def mounted_in_fastmcp(root: Path, mode: Any, options: ServeOptions) -> AsyncGenerator[Client]:
    inner, outer = fastmcp_server(), fastmcp_server()
    attach(inner, FolderSource(root), options=options)
    outer.mount(inner)
    async with client_of(outer, mode) as client:
        yield client


@asynccontextmanager
async def written_in_code(root: Path, mode: Any, options: ServeOptions) -> AsyncGenerator[Client]:
    server = SkillServer("host", options=options)
    server.add(*(Skill.from_dir(root / name) for name in ("alpha", "odd", "zeta")))
    async with Client(server.build(), mode=mode) as client:
        yield client


WAYS = [attached_to_sdk, attached_to_lowlevel, attached_to_fastmcp, mounted_in_fastmcp, written_in_code]


async def uris_of(client: Client, method: str, key: str) -> list[str]:
    return [each["uri"] for each in (await ask(client, method))[key]]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("way", WAYS)
async def test_server_in_code_omits_it_from_the_list_only(
    tmp_path: Path, way: Callable[..., Any], mode: str
) -> None:
    root = folder(tmp_path, FAULT)
    async with way(root, mode, ServeOptions()) as client:
        assert await uris_of(client, "skills/list", "skills") == GOOD_ONES
        assert (await ask(client, "skills/get", uri=ODD))["skill"]["uri"] == ODD
        assert ODD in await uris_of(client, "resources/list", "resources")
        assert (await client.read_resource(ODD)).contents
        children = await ask(client, "resources/directory/read", uri="skill://odd")
        assert [each["uri"] for each in children["resources"]] == [ODD, "skill://odd/notes.md"]
        assert {"ttlMs", "cacheScope"} & children.keys() == (
            {"ttlMs", "cacheScope"} if mode == "auto" else set()
        )
    async with way(root, mode, ServeOptions(list_nonconforming=True)) as client:
        assert await uris_of(client, "skills/list", "skills") == EVERYTHING


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
async def test_clients_are_notified_when_conformance_changes(tmp_path: Path, mode: str) -> None:
    root = folder(tmp_path, FAULT)
    library = Library([FolderSource(root)])
    await library.load()
    async with listening(skills_server(library), mode, [ODD]) as (client, heard):
        for text, expected in ((odd(), EVERYTHING), (odd(FAULT), GOOD_ONES)):
            heard.take()
            write(root, {"odd/SKILL.md": text})
            await library.rescan_source(library.sources[0])
            await heard.until("resources", ODD)
            assert await uris_of(client, "skills/list", "skills") == expected
            assert ODD in await uris_of(client, "resources/list", "resources")


@pytest.mark.anyio
async def test_bridge_omits_it_from_the_list_and_names_the_server(tmp_path: Path) -> None:
    library = Library([FolderSource(folder(tmp_path, FAULT))])
    await library.load()
    upstream = Wire(skills_server(library, options=ServeOptions(list_nonconforming=True)))
    async with (
        open_bridge({"upstream": upstream}, trusted=["upstream"]) as bridge,
        Client(bridge.server) as client,
    ):
        listed = await uris_of(client, "skills/list", "skills")
        assert [uri.rpartition("upstream/")[2] for uri in listed] == ["alpha/SKILL.md", "zeta/SKILL.md"]
        (problem,) = bridge.problems(Rule.NOT_LISTED)
        assert problem.hint == "ask the operator of its server to fix it"
        found = [uri for uri in await uris_of(client, "resources/list", "resources") if "/odd/" in uri]
        assert (await ask(client, "skills/get", uri=found[0]))["skill"]["frontmatter"]["name"] == "odd"


@pytest.mark.parametrize("version", [MODERN, "2025-11-25"])
def test_a_process_offers_it_to_tools_prompts_and_completion(tmp_path: Path, version: str) -> None:
    root = folder(tmp_path, FAULT)
    with StdioPeer(version, skillwire("serve", root, "--no-config")) as peer:
        assert [each["uri"] for each in peer.result("skills/list")["skills"]] == GOOD_ONES
        catalog = peer.result("tools/call", {"name": "load-skill", "arguments": {"name": ""}})
        assert "odd" in json.dumps(catalog)
        loaded = peer.result("tools/call", {"name": "load-skill", "arguments": {"name": "odd"}})
        assert "# Odd" in json.dumps(loaded)
        assert "odd" in {each["name"] for each in peer.result("prompts/list")["prompts"]}
        reference = {
            "ref": {"type": "ref/prompt", "name": "skill"},
            "argument": {"name": "name", "value": "od"},
        }
        assert peer.result("completion/complete", reference)["completion"]["values"] == ["odd"]
    with StdioPeer(version, skillwire("serve", root, "--no-config", "--list-nonconforming")) as peer:
        assert [each["uri"] for each in peer.result("skills/list")["skills"]] == EVERYTHING


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
async def test_running_process_lists_it_once_it_is_fixed(tmp_path: Path, mode: str) -> None:
    root = folder(tmp_path, FAULT)
    command, *arguments = skillwire("serve", root, "--no-config")
    process = StdioServerParameters(command=command, args=arguments)
    async with listening(process, mode, [ODD]) as (client, heard):
        for text, expected in ((odd(), EVERYTHING), (odd(FAULT), GOOD_ONES)):
            assert await uris_of(client, "skills/list", "skills") != expected
            heard.take()
            write(root, {"odd/SKILL.md": text})
            await heard.until("resources", ODD)
            assert await uris_of(client, "skills/list", "skills") == expected
