"""What hosts of early drafts find: an index of all skills, archives, and addresses of an older time."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import Library, MemorySource, ServeOptions
from skillwire.protocol.archive_rules import ArchiveBounds
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.protocol.discovery import read_index
from skillwire.protocol.unpacking import unpack
from skillwire.server import skills_server
from skillwire.sources import MemorySkill
from tests.support.clients import ERAS, connected, library_of, skill
from tests.support.listening import listening
from tests.support.peers import StdioPeer, skillwire
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio

INDEX = "skill://index.json"
ARCHIVES = ServeOptions(archives=True)


async def text(client: Client, uri: str) -> str:
    (block,) = (await client.read_resource(uri)).contents
    return str(getattr(block, "text", ""))


async def blob(client: Client, uri: str) -> bytes:
    (block,) = (await client.read_resource(uri)).contents
    return base64.b64decode(getattr(block, "blob", ""))


async def index(client: Client) -> Any:
    return json.loads(await text(client, INDEX))


@pytest.mark.parametrize("mode", ERAS)
async def test_the_index_is_listed_last_and_serves_both_early_drafts(mode: str) -> None:
    refunds = skill("acme/refunds", "license: MIT\nmetadata:\n  a: b\n", {"refs/a.md": b"a"})
    broken = MemorySkill("broken", {"SKILL.md": b"broken"})
    library = Library([MemorySource([refunds, skill("hello"), broken])])
    await library.load()
    async with Client(skills_server(library), mode=mode) as client:
        listed = (await client.list_resources()).resources
        assert [str(each.uri) for each in listed][-2:] == ["skillwire://problems", INDEX]
        assert listed[-1].mime_type == "application/json"
        document = await index(client)
        assert document["$schema"] == "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
        first, second = document["skills"]
        content = refunds.files["SKILL.md"]
        assert isinstance(content, bytes)
        assert first == {
            "name": "refunds",
            "type": "skill-md",
            "description": "Does refunds.",
            "url": "skill://acme/refunds/SKILL.md",
            "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
            "frontmatter": {
                "name": "refunds",
                "description": "Does refunds.",
                "license": "MIT",
                "metadata": {"a": "b"},
            },
        }
        assert second["name"] == "hello"


async def test_index_is_accepted_by_our_own_parser() -> None:
    async with connected("auto", skill("one"), skill("team/two"), options=ARCHIVES) as client:
        read = read_index((await text(client, INDEX)).encode())
        assert not read.problems
        assert {each.name for each in read.skills} == {"one", "two"}


async def test_a_dynamic_skill_has_no_digest() -> None:
    async def now() -> bytes:
        return b"---\nname: live\ndescription: Now.\n---\n"

    async with connected("auto", MemorySkill("live", {"SKILL.md": now}), options=ARCHIVES) as client:
        (entry,) = (await index(client))["skills"]
        assert "digest" not in entry
        assert "archives" not in entry
        with pytest.raises(MCPError):
            await blob(client, "skill://live.zip")


async def test_without_drafts_there_is_no_index() -> None:
    async with connected("auto", skill("one"), options=ServeOptions(drafts=False)) as client:
        assert [str(each.uri) for each in (await client.list_resources()).resources] == [
            "skill://one/SKILL.md"
        ]
        with pytest.raises(MCPError):
            await text(client, INDEX)


async def test_archives_are_served_only_if_enabled() -> None:
    async with connected("auto", skill("one")) as client:
        with pytest.raises(MCPError):
            await blob(client, "skill://one.zip")


@pytest.mark.parametrize("form", list(ArchiveFormat))
async def test_archive_has_every_file_and_the_digest_in_the_index(
    form: ArchiveFormat,
) -> None:
    made = skill("acme/one", files={"refs/a.md": b"a", "run.sh": b"#!/bin/sh\n", "b.bin": bytes(range(256))})
    async with connected("auto", made, skill("two"), options=ARCHIVES) as client:
        uri = f"skill://acme/one{form.suffix}"
        packed = await blob(client, uri)
        assert unpack(packed, form, ArchiveBounds()) == made.files
        assert await blob(client, uri) == packed
        skills = (await index(client))["skills"]
        digest = f"sha256:{hashlib.sha256(packed).hexdigest()}"
        assert {"url": uri, "mimeType": form.mime_type, "digest": digest} in skills[0]["archives"]
        (entry,) = [each for each in skills if each["type"] == "archive" and each["url"] == uri]
        assert (entry["name"], entry["digest"]) == ("one", digest)
        assert uri not in {str(each.uri) for each in (await client.list_resources()).resources}


async def test_real_file_takes_precedence_over_an_archive() -> None:
    outer = skill(
        "outer", files={"inner/SKILL.md": b"---\nname: inner\ndescription: x\n---\n", "inner.zip": b"mine"}
    )
    inner = MemorySkill("outer/inner", {"SKILL.md": b"---\nname: inner\ndescription: x\n---\n"})
    async with connected("auto", outer, inner, options=ARCHIVES) as client:
        assert await text(client, "skill://outer/inner.zip") == "mine"


@pytest.mark.parametrize("mode", ERAS)
async def test_index_subscribers_are_notified_only_of_index_changes(mode: str) -> None:
    source = MemorySource([skill("one", files={"a.md": b"a"})])
    library = Library([source])
    await library.load()
    async with listening(skills_server(library), mode, [INDEX]) as (client, heard):
        before = await text(client, INDEX)
        source.put(skill("one", files={"a.md": b"other"}))  # not in the index
        source.put(skill("two"))
        await heard.until("resources", INDEX)
        assert heard.all.count(INDEX) == 1
        assert await text(client, INDEX) != before


async def test_an_archive_can_be_subscribed_to() -> None:
    source = MemorySource([skill("one", files={"a.md": b"a"})])
    library = Library([source])
    await library.load()
    uris = ["skill://one.zip", INDEX]
    async with listening(skills_server(library, options=ARCHIVES), "legacy", uris) as (_, heard):
        source.put(skill("one", files={"a.md": b"other"}))
        await heard.until(*uris)


async def test_legacy_uris_are_served_if_enabled_and_never_listed() -> None:
    made = skill("acme/one", files={"refs/a.md": b"a"})
    twins = (skill("x/twin"), skill("y/twin"))
    async with connected("auto", made, *twins, options=ServeOptions(legacy_uris=True)) as client:
        assert (await text(client, "skill://one")).startswith("---\nname: one")
        every = (await client.read_resource("skill://one/")).contents
        assert [str(block.uri) for block in every] == [
            "skill://acme/one/SKILL.md",
            "skill://acme/one/refs/a.md",
        ]
        for uri in ("skill://twin", "skill://nobody", "skill://", "other://one"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)
        assert not any(str(each.uri) == "skill://one" for each in (await client.list_resources()).resources)
    async with connected("auto", made) as client:
        with pytest.raises(MCPError):
            await client.read_resource("skill://one")


def test_command_line_options_enable_archives_and_legacy_uris(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    with StdioPeer(
        "2025-11-25", skillwire("serve", tmp_path, "--no-drafts", "--archives", "--legacy-uris")
    ) as peer:
        assert [each["uri"] for each in peer.result("resources/list")["resources"]] == [
            "skill://one/SKILL.md"
        ]
        (block,) = peer.result("resources/read", {"uri": "skill://one.zip"})["contents"]
        assert block["mimeType"] == "application/zip"
        assert "text" in peer.result("resources/read", {"uri": "skill://one"})["contents"][0]


async def test_skill_that_cannot_be_packed_does_not_hide_others() -> None:
    library = await library_of(skill("one"), skill("two"))
    source = library.sources[0]
    assert isinstance(source, MemorySource)
    server = skills_server(library, options=ARCHIVES)
    source._skills.pop("one")  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - gone, and nobody knows yet
    async with Client(server, mode="auto") as client:
        names = {each["name"] for each in (await index(client))["skills"]}
        assert "two" in names
