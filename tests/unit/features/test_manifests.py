"""Manifests for clients of a time before the extension, asked for by those clients themselves."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastmcp import Client as FastMCPClient
from fastmcp import FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.utilities.skills import (  # its `Client` names no type of transport
    download_skill,  # pyright: ignore[reportUnknownVariableType]
    get_skill_manifest,  # pyright: ignore[reportUnknownVariableType]
    list_skills,  # pyright: ignore[reportUnknownVariableType]
    sync_skills,  # pyright: ignore[reportUnknownVariableType]
)
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import AnyUrl

from skillwire import FolderSource, Library, MemorySource, ServeOptions, attach
from skillwire.core.names import name_fault
from skillwire.features.drafts import SkillManifests
from skillwire.protocol.claims import SkillClaim
from skillwire.protocol.legacy import read_manifest
from skillwire.server import skills_server
from skillwire.sources import Limits, MemorySkill
from tests.support.clients import ERAS, connected, library_of, skill
from tests.support.listening import listening
from tests.support.peers import MODERN, HttpServer, StdioPeer, skillwire
from tests.support.skills import write_skill

FILES: dict[str, bytes | str] = {
    "references/deep/er/guide.md": "# Guide\r\n",
    "scripts/tool.bin": bytes(range(256)),
    "größe 日本.md": "wide",
    "with space (1).md": "spaced",
    "50%.md": "half",
    "a%20b.md": "escaped",
    "what?.md": "asked",
    "c#.md": "sharp",
    'odd ^[]{}|"<>`.md': "odd",
    "mail+me@2x;a:b,c=d!$&'*~.md": "reserved",
    "empty": b"",
}


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file in a folder by its path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture(scope="module")
def skills(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("skills")
    write_skill(root, "refunds", FILES)
    write_skill(root, "acme/billing/invoices", {"refs/a.md": "a"})
    write_skill(root, "outer/inner", {"b c.md": "b"})
    write_skill(root, "outer")
    return root


@pytest.fixture(scope="module")
def served(skills: Path) -> Iterator[str]:
    with HttpServer(skills, "--no-config", "--http", "127.0.0.1:0") as server:
        yield server.url


def attached(skills: Path) -> FastMCP[Any]:
    server: FastMCP[Any] = FastMCP("host")
    attach(server, FolderSource(skills, label="skills"))
    return server


def place(how: str, skills: Path, request: pytest.FixtureRequest) -> Any:
    """Return what leads a client to a server of these skills."""
    if how == "attached":
        return attached(skills)
    if how == "over http":
        return request.getfixturevalue("served")
    command, *arguments = skillwire("serve", skills, "--no-config")
    return StdioTransport(command, arguments, keep_alive=False)


@pytest.mark.anyio
@pytest.mark.parametrize("how", ["attached", "over http", "over stdio"])
async def test_fastmcp_syncs_every_file_of_every_skill(
    skills: Path, tmp_path: Path, how: str, request: pytest.FixtureRequest
) -> None:
    async with FastMCPClient(place(how, skills, request)) as client:
        assert {each.name for each in await list_skills(client)} == {
            *("refunds", "acme/billing/invoices", "outer", "outer/inner")
        }
        manifest = await get_skill_manifest(client, "refunds")
        assert manifest.name == "refunds"
        content = tree(skills / "refunds")
        assert {each.path: (each.size, each.hash) for each in manifest.files} == {
            path: (len(each), f"sha256:{hashlib.sha256(each).hexdigest()}") for path, each in content.items()
        }
        one = await download_skill(client, "acme/billing/invoices", tmp_path / "one")
        assert tree(one) == tree(skills / "acme/billing/invoices")
        await sync_skills(client, tmp_path / "all", overwrite=True)
    assert tree(tmp_path / "all") == tree(skills)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
async def test_a_manifest_is_readable_and_not_listed(mode: str) -> None:
    async with connected(mode, skill("acme/refunds", files={"a.md": b"a"})) as client:
        uri = "skill://acme/refunds/_manifest"
        assert uri not in {str(each.uri) for each in (await client.list_resources()).resources}
        (block,) = (await client.read_resource(uri)).contents
        assert block.mime_type == "application/json"
        found = read_manifest(uri, getattr(block, "text", "").encode(), {}, Limits())
        assert isinstance(found, SkillClaim)
        assert found.files is not None
        assert [file.uri for file in found.files] == [
            "skill://acme/refunds/SKILL.md",
            "skill://acme/refunds/a.md",
        ]


@pytest.mark.anyio
async def test_without_drafts_there_is_no_manifest_and_one_spelling() -> None:
    one = skill("one", files={"a b.md": b"a"})
    async with connected("auto", one, options=ServeOptions(drafts=False)) as client:
        for uri in ("skill://one/_manifest", "skill://one/a b.md"):
            with pytest.raises(MCPError, match="no file is served"):
                await client.read_resource(uri)


def test_the_option_switches_manifests_off_in_a_process(skills: Path) -> None:
    uri = "skill://refunds/_manifest"
    for options, served in (((), True), (("--no-drafts",), False)):
        with StdioPeer(MODERN, skillwire("serve", skills, "--no-config", *options)) as peer:
            assert ("result" in peer.request("resources/read", {"uri": uri})) is served


@pytest.mark.anyio
async def test_real_file_takes_precedence_over_a_manifest() -> None:
    async with connected("auto", skill("one", files={"_manifest": b"mine"})) as client:
        (block,) = (await client.read_resource("skill://one/_manifest")).contents
        assert getattr(block, "text", "") == "mine"


@pytest.mark.anyio
async def test_dynamic_skill_does_not_stop_syncing_all_skills(tmp_path: Path) -> None:
    async def now() -> bytes:
        return b"---\nname: live\ndescription: x\n---\n"

    server = FastMCP("x")
    attach(server, MemorySource([MemorySkill("live", {"SKILL.md": now}), skill("still")]))
    async with FastMCPClient(server) as client:
        (file,) = (await get_skill_manifest(client, "live")).files
        assert (file.path, file.size, file.hash) == ("SKILL.md", 0, "")
        await sync_skills(client, tmp_path)
    assert (tmp_path / "live/SKILL.md").read_bytes() == await now()
    assert (tmp_path / "still/SKILL.md").is_file()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "names",
    [("a b.md", "a%20b.md"), ("x%61 y", "x%61%20y"), ("a:b.md", "a%3Ab.md"), ("%2e%2e/x",), ("end ", "end")],
    ids=str,
)
async def test_manifest_is_refused_if_clients_would_confuse_files(names: tuple[str, ...]) -> None:
    async with connected("auto", skill("one", files=dict.fromkeys(names, b"x")), skill("two")) as client:
        with pytest.raises(MCPError, match="rename"):
            await client.read_resource("skill://one/_manifest")
        assert (await client.read_resource("skill://two/_manifest")).contents


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
async def test_manifest_subscribers_are_notified_of_changes(mode: str) -> None:
    source = MemorySource([skill("one", files={"a b.md": b"a"}), skill("two")])
    library = Library([source])
    await library.load()
    uris = ["skill://one/_manifest", "skill://one/a b.md"]
    async with listening(skills_server(library), mode, [*uris, "skill://two/_manifest"]) as (_, heard):
        source.put(skill("one", files={"a b.md": b"other"}))
        await heard.until(*uris)
        assert "skill://two/_manifest" not in heard.all


PIECES = st.sampled_from([*"ab .%#?^[{|\"'&+;:@é日", "%20", "%61", "%2e"]) | st.characters(
    max_codepoint=0x2FF
)
NAMES = st.lists(PIECES, min_size=1, max_size=5).map("".join).filter(lambda name: name_fault(name) is None)


@settings(max_examples=80, deadline=None)
@given(st.sets(NAMES, min_size=1, max_size=4))
@pytest.mark.anyio
async def test_clients_read_the_files_that_the_manifest_lists(names: set[str]) -> None:
    """Other bytes under a listed path are never an answer: a client of this format checks no hash."""
    files = {name: name.encode() for name in names}
    library = Library([MemorySource([skill("one", files=files)])])
    if not (await library.load()).entries:  # names that hosts cannot tell apart
        return
    async with Client(skills_server(library)) as client:
        try:
            (block,) = (await client.read_resource("skill://one/_manifest")).contents
        except MCPError as error:
            assert "rename" in str(error)  # noqa: PT017 - both outcomes are right
            return
        for path in (each["path"] for each in json.loads(getattr(block, "text", ""))["files"][1:]):
            # FastMCP 4.1, FastMCP 4.2, JavaScript
            for spelled in (str(AnyUrl(f"skill://one/{path}"))[12:], quote(path), quote(path, safe="/!'()*")):
                (found,) = (await client.read_resource(f"skill://one/{spelled}")).contents
                assert getattr(found, "text", "").encode() == files[path]


@pytest.mark.anyio
async def test_unknown_uris_are_not_served() -> None:
    manifests = SkillManifests(await library_of(skill("one", files={"a b.md": b"a"})))
    assert manifests.serves("skill://one/a b.md")
    for uri in (
        "skill://_manifest",
        "skill://two/_manifest",
        "skill://one/a  b.md",
        "skill://one/../one/a b.md",
    ):
        assert not manifests.serves(uri)
    assert not manifests.serves("skill://one/" + "/" * 100_000)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["a:b.md", "image@2x.png", "copy (1).md", "a+b, c;d=e&f!.md", "50% $'*.md"])
async def test_a_reserved_character_may_be_escaped_or_not(name: str) -> None:
    """FastMCP 4.2 escapes it. One file that it cannot read ends its download of all skills."""
    async with connected("auto", skill("one", files={f"refs/{name}": b"x"})) as client:
        for spelling in {name, quote(name), quote(name, safe="!'()*"), quote(name, safe="!$&'()*+,;=:@")}:
            (block,) = (await client.read_resource(f"skill://one/refs/{spelling}")).contents
            assert getattr(block, "text", "") or getattr(block, "blob", "")
