"""The tools and resources of the pages, as MCP clients see them."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client

from skillwire import ServeOptions
from skillwire.app.gateway import ServedLibrary, open_served_library
from skillwire.config.file import ConfigFile
from skillwire.config.source_config import LibraryOptions
from skillwire.pages.serving import PagesPart, mcp_overview
from skillwire.server import skills_server
from skillwire.sources.placeholder import UnavailableSource
from tests.support.clients import ERAS, text_of
from tests.support.demo_skills import write_demo
from tests.support.peers import VERSIONS, StdioPeer, skillwire
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio

LOOKING = ["skill-config", "skill-display"]
CHANGING = [
    "skill-config-add-source",
    "skill-config-remove-source",
    "skill-config-sync-source",
    "skill-config-visibility",
    "skill-config-allowed-origins",
    "skill-config-static",
]
PAGES = {"skill-config": "ui://skillwire/config.html", "skill-display": "ui://skillwire/skills.html"}


def gateway(folder: Path, *, editable: bool) -> ServedLibrary:
    file = ConfigFile(folder.parent / "config.toml")
    options = LibraryOptions(live=True)
    parts = [PagesPart(editable=editable)]
    return open_served_library([str(folder)], options, file, parts=parts, editable=editable)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_demo(tmp_path / "team-skills")


@pytest.fixture(params=ERAS)
def mode(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
async def client(folder: Path, mode: Any) -> AsyncGenerator[Client]:
    """A client of a server that may be steered."""
    steered = gateway(folder, editable=True)
    await steered.library.load()
    options = ServeOptions(additions=steered.additions)
    async with Client(skills_server(steered.library, options=options), mode=mode) as client:
        yield client


async def config_of(client: Client) -> Any:
    return (await client.call_tool("skill-config", {})).structured_content


async def schemas(client: Client) -> dict[str, Any]:
    return {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}


async def test_models_see_two_tools_that_open_pages(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert [name for name in tools if name in LOOKING] == LOOKING
    for name, page in PAGES.items():
        meta = tools[name].meta or {}
        assert meta["ui"] == {"resourceUri": page}
        assert meta["ui/resourceUri"] == page  # the older spelling
        annotations = tools[name].annotations
        assert annotations is not None
        assert annotations.read_only_hint is True
    assert "configuration" in (tools["skill-config"].description or "")
    assert "skills of this server" in (tools["skill-display"].description or "")


async def test_pages_have_tools_of_their_own_behind_them(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert [name for name in tools if name in CHANGING] == CHANGING
    for name in CHANGING:
        assert (tools[name].meta or {})["ui"] == {"visibility": ["app"]}
        annotations = tools[name].annotations
        assert annotations is not None
        assert annotations.read_only_hint is False


@pytest.mark.parametrize("version", VERSIONS)
def test_without_leave_no_tool_that_changes_anything_exists(folder: Path, version: str) -> None:
    with StdioPeer(version, skillwire("serve", folder, "--no-config")) as peer:
        names = [tool["name"] for tool in peer.result("tools/list")["tools"]]
        assert [name for name in names if name.startswith("skill-")] == ["skill-resource", *LOOKING]
        for name in CHANGING:
            assert "there is no tool" in peer.error("tools/call", {"name": name, "arguments": {}})["message"]
        config = peer.result("tools/call", {"name": "skill-config", "arguments": {}})
        assert config["structuredContent"]["editable"] is False
        assert str(folder) not in json.dumps(config)


@pytest.mark.parametrize("name", ["config", "skills"])
async def test_the_pages_are_resources_that_hosts_know(client: Client, name: str) -> None:
    uri = f"ui://skillwire/{name}.html"
    listed = {str(each.uri) for each in (await client.list_resources()).resources}
    assert uri not in listed  # hosts find it at its tool
    (content,) = (await client.read_resource(uri)).contents
    assert content.mime_type == "text/html;profile=mcp-app"
    html = getattr(content, "text", "")
    assert html.startswith(f'<!doctype html>\n<html data-view="{name}" ')
    assert len(html) < 1024 * 1024
    assert "http://" not in html.split("<script")[0]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("skill-config", {}),
        ("skill-config", {"problems": 0}),
        ("skill-display", {}),
        ("skill-display", {"query": "policy", "limit": 1}),
        ("skill-display", {"offset": 100}),
        ("skill-display", {"skill": "refunds"}),
        ("skill-display", {"skill": "skill://finance/refunds/SKILL.md"}),
        ("skill-config-static", {"static": False}),
    ],
)
async def test_tool_results_match_their_output_schema(
    client: Client, name: str, arguments: dict[str, object]
) -> None:
    result = await client.call_tool(name, arguments)
    assert result.is_error is False
    jsonschema.validate(result.structured_content, (await schemas(client))[name])
    assert text_of(result)


async def test_tool_text_for_models_is_short(client: Client) -> None:
    config = text_of(await client.call_tool("skill-config", {}))
    assert config.startswith("14 skills, 1 error, 0 warnings; live\n")
    assert "- team-skills: folder, 14 skills, ready, given by the command line" in config
    assert "- error: support/Old Macros/SKILL.md" in config
    found = await client.call_tool("skill-display", {"query": "POLICY expense"})
    assert text_of(found).splitlines()[1].startswith("- expense-check: Checks expense reports")
    assert text_of(found).startswith("2 skills found; the best first:\n- expense-check: ")
    page = await client.call_tool("skill-display", {"offset": 1, "limit": 1})
    assert text_of(page).startswith("14 skills; number 2:\n- ")
    shown = text_of(await client.call_tool("skill-display", {"skill": "sql-style"}))
    assert shown.startswith("sql-style (not for people): Writes and formats SQL")
    assert "SKILL.md" in shown


async def test_tools_hide_text_of_skills_not_for_models(client: Client) -> None:
    uri = "skill://finance/refunds/SKILL.md"
    await client.call_tool("skill-config-visibility", {"uri": uri, "assistant": False})
    shown = await client.call_tool("skill-display", {"skill": uri})
    assert "Never promise a date" not in shown.model_dump_json()
    assert (await client.call_tool("load-skill", {"name": "refunds"})).is_error


async def test_page_changes_the_server(client: Client, folder: Path) -> None:
    write_skill(folder.parent / "more", "added")
    add = await client.call_tool("skill-config-add-source", {"source": str(folder.parent / "more")})
    assert add.structured_content == {"done": True}
    config = await config_of(client)
    assert [source["label"] for source in config["sources"]] == ["team-skills", "more"]
    assert config["sources"][1]["removable"] is True
    await client.call_tool("skill-config-sync-source", {"label": "more"})
    await client.call_tool("skill-config-allowed-origins", {"origins": ["https://a.example"]})
    await client.call_tool("skill-config-static", {"static": True})
    config = await config_of(client)
    assert (config["static"], config["allowedOrigins"]) == (True, ["https://a.example"])
    await client.call_tool("skill-config-static", {"static": False})
    await client.call_tool("skill-config-remove-source", {"label": "more"})
    config = await config_of(client)
    assert [source["label"] for source in config["sources"]] == ["team-skills"]


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        (
            "skill-config-add-source",
            {"source": "nowhere"},
            "`nowhere` is not an absolute path\nhint: write a",
        ),
        ("skill-config-add-source", {}, "the parameter `source` must be a string"),
        ("skill-config-remove-source", {"label": "team-skills"}, "comes from the command line"),
        ("skill-config-visibility", {"uri": "skill://x/SKILL.md", "user": False}, "there is no skill"),
        ("skill-config-visibility", {"uri": "skill://x/SKILL.md"}, "pass `assistant`, `user` or both"),
        ("skill-config-allowed-origins", {"origins": "x"}, "must be a list of strings"),
        ("skill-config-static", {"static": 1}, "must be true or false"),
        ("skill-display", {"skill": "refnds"}, "did you mean `refunds`"),
        ("skill-display", {"limit": -1}, "must be a whole number"),
    ],
)
async def test_a_refusal_is_a_result_that_says_why(
    client: Client, name: str, arguments: dict[str, object], told: str
) -> None:
    result = await client.call_tool(name, arguments)
    assert result.is_error is True
    assert told in text_of(result)
    assert result.structured_content is None


PLACES = [
    "/home/ada/SECRET/notes.txt\x01",
    "https://ada:SECRET@skills.example/x",
    "https://skills.example:badport/?token=SECRET",
    "http://skills.example/?token=SECRET",
    "https://ada:half/SECRET@skills.example",
    f"ftp://ada:{'long' * 60}SECRET@skills.example",
    f"ftp://ada:SECRET{'long' * 60}@skills.example",
    "git+https://ada:SECRET@git.example?x",
    "mcp+https://ada:SECRET@mcp.example/mcp",
    "mcp+http://mcp.example/mcp?key=SECRET",
    "mcp+https://mcp.example/SECRET?key=SECRET",
    "git+file:///home/ada/SECRET",
    "weird:SECRET",
]


def config_with(place: str, folder: Path, *, editable: bool) -> Any:
    file = ConfigFile(folder.parent / "config.toml")
    file.path.write_text(f"[[sources]]\nsource = {json.dumps(place)}\nlabel = 'odd'\n", encoding="utf-8")
    return mcp_overview(gateway(folder, editable=editable).context).config(9)


@pytest.mark.parametrize("place", PLACES)
async def test_clients_see_no_path_or_key_unless_editable(folder: Path, place: str) -> None:
    config = config_with(place, folder, editable=False)
    assert [each["label"] for each in config["sources"]] == ["team-skills", "odd"]
    assert "SECRET" not in json.dumps(config)


@pytest.mark.parametrize("place", [each for each in PLACES if "SECRET@" in each or "=SECRET" in each])
async def test_key_in_an_address_is_never_shown(folder: Path, place: str) -> None:
    config = config_with(place, folder, editable=True)
    assert config["sources"][1]["place"]
    assert "SECRET" not in json.dumps(config).replace("example/SECRET", "")
    for each in gateway(folder, editable=True).library.sources:
        if isinstance(each, UnavailableSource):  # what the log says of it
            assert "SECRET" not in each.place + each.reason


@pytest.mark.parametrize(
    "place", ["github:acme/skills@v1", "git+https://git.example/a.git", "https://skills.example/"]
)
async def test_places_of_public_sources_are_shown(folder: Path, place: str) -> None:
    assert config_with(place, folder, editable=False)["sources"][1]["place"].startswith(place)


async def test_bidirectional_path_is_escaped(folder: Path) -> None:
    write_skill(folder, "turned", files={"\u202etxt.exe": "x"})
    steered = gateway(folder, editable=False)
    await steered.library.load()
    options = ServeOptions(additions=steered.additions)
    async with Client(skills_server(steered.library, options=options)) as client:
        told = text_of(await client.call_tool("skill-display", {"skill": "turned"}))
    assert "- \\u202etxt.exe" in told
