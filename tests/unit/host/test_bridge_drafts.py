"""A bridge before servers of earlier drafts: what passes, and why the rest does not."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import State
from skillwire.core.record import SkillFile
from skillwire.host import Outcome, SkillsClient, verify_server
from skillwire.protocol.claims import SkillClaim
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.protocol.verify import derive_files
from skillwire.sources import Rule
from tests.support.bridges import Bridge, open_bridge
from tests.support.clients import ERAS, refusal, text_of
from tests.support.draft_servers import (
    FILES,
    INDEX,
    MAIN,
    ROOT,
    archive_a,
    archive_b,
    digest,
    draft_c,
    entry_a,
    entry_b,
    index_of,
    indexed,
    packed,
    scanned,
    with_manifests,
)
from tests.support.links import Wire
from tests.support.scripted import ScriptedServer

pytestmark = pytest.mark.anyio
ZIP, TAR = ArchiveFormat.ZIP, ArchiveFormat.TAR_GZ
GOOD, LOGO = "skill://up/good/SKILL.md", "skill://up/good/logo.png"
ARCHIVED: dict[str, Callable[[], ScriptedServer]] = {
    "b-zip": lambda: indexed(entry_b(url=None, digest=None, archives=[archive_b(ZIP)]), files={}),
    "b-both": lambda: indexed(entry_b(archives=[archive_b(TAR)])),
    "a-tar": lambda: indexed(archive_a(TAR), files={}),
}
every_archive = pytest.mark.parametrize("made", ARCHIVED.values(), ids=ARCHIVED)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look again soon: how long a pause is proves nothing."""
    monkeypatch.setattr("skillwire.host.bridge._LOOK_SECONDS", 0.05)
    monkeypatch.setattr("skillwire.host.servers.link._MIN_PAUSE", 0.05)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State.open(tmp_path / "state") as state:
        yield state


@asynccontextmanager
async def bridged(
    script: ScriptedServer, state: State, mode: Any = "auto", *, trust: bool = False
) -> AsyncGenerator[tuple[Bridge, Client]]:
    wires = {"up": Wire(script.server(), mode)}
    async with (
        open_bridge(wires, state, {"up"} if trust else (), drafts=True) as bridge,
        Client(bridge.server, mode=mode) as client,
    ):
        yield bridge, client


async def unpacked(script: ScriptedServer) -> SkillClaim:
    """Return the skill as a person approves it, on the command line of another process."""
    async with Wire(script.server()).link(drafts=True) as link:
        (skill,) = (await link.list()).skills
        return derive_files(skill, skill.archives[0], await link.unpack(skill, skill.archives[0]))


def fetched(script: ScriptedServer) -> list[str]:
    reads = [params["uri"] for method, params in script.asked if method == "resources/read"]
    return [uri for uri in reads if uri != INDEX]


def digests(bridge: Bridge) -> set[str]:
    files = [file for entry in bridge.library.catalog.entries.values() for file in entry.files]
    return {file.digest.text for file in files if isinstance(file, SkillFile)}


def held_back(bridge: Bridge) -> dict[str, str]:
    return {each.path: f"{each.message}; {each.hint}" for each in bridge.problems(Rule.NOT_PASSED_ON)}


@every_archive
@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.rule("H11", "H15", "H17")
async def test_approved_archive_is_passed_on_with_files_and_digests(
    made: Any, mode: Any, state: State
) -> None:
    script = made()
    claim = await unpacked(script)
    script.asked.clear()
    async with bridged(script, state, mode) as (bridge, client):
        host = SkillsClient(client)
        assert (await host.list()).skills == []
        (told,) = held_back(bridge).values()
        assert "its files are in an archive" in told
        assert "look at it, then approve it: `skillwire approve up:good`" in told
        assert fetched(script) == []
        bridge.approve("up", claim)
        await bridge.until_offered(GOOD)
        (listed,) = (await host.list()).skills
        assert fetched(script) == []
        assert {each.uri.removeprefix("skill://up/good"): each.digest for each in listed.files or ()} == {
            each.uri.removeprefix(ROOT): each.digest for each in claim.files or ()
        }
        assert dict(listed.frontmatter) == {"name": "good", "description": "Does good."}
        assert await host.read(LOGO) == FILES[f"{ROOT}/logo.png"]
        assert (await verify_server(host)).outcome() is Outcome.VERIFIED
        loaded = text_of(await client.call_tool("load-skill", {"name": "up/good"}))
        assert loaded.startswith("The skill `up/good`, from the server `up`.")
        assert held_back(bridge) == {}
        assert set(fetched(script)) == {claim.archives[0].uri}  # never the document beside it


@pytest.mark.rule("H15", "H17")
async def test_revoked_archive_is_withheld_again(state: State) -> None:
    script = ARCHIVED["b-zip"]()
    claim = await unpacked(script)
    async with bridged(script, state) as (bridge, client):
        bridge.approve("up", claim)
        await bridge.until_offered(GOOD)
        bridge.revoke("up", MAIN)
        await bridge.until_offered()
        assert "there is no skill" in await refusal(client, "load-skill", {"name": "good"})
        assert "its approval was revoked" in bridge.withheld[0]["message"]


@pytest.mark.rule("H15", "H17")
async def test_bridge_refuses_an_archive_that_changed_after_its_approval(state: State) -> None:
    script = ARCHIVED["b-zip"]()
    claim = await unpacked(script)
    async with bridged(script, state) as (bridge, client):
        bridge.approve("up", claim)
        await bridge.until_offered(GOOD)
        lie = packed(ZIP, {**FILES, f"{ROOT}/logo.png": b"LIE"})
        script.files = {**script.files, f"{ROOT}.zip": lie}
        with pytest.raises(MCPError, match="sent something other than what it listed") as refused:
            await SkillsClient(client).read(LOGO)
        assert "LIE" not in str(refused.value)
        index = index_of(entry_b(url=None, digest=None, archives=[archive_b(ZIP, lie)]))
        script.files = {**script.files, INDEX: index}
        await bridge.library.rescan_source(bridge.library.sources[0])
        assert (bridge.offered, (await SkillsClient(client).list()).skills) == (set(), [])
        assert "approve it" in str(held_back(bridge))
        bridge.approve("up", await unpacked(script))
        await bridge.until_offered(GOOD)
        assert await SkillsClient(client).read(LOGO) == b"LIE"


@pytest.mark.rule("H15", "H17")
async def test_approved_new_version_is_passed_on_before_the_next_poll(state: State) -> None:
    script = ARCHIVED["b-zip"]()
    async with bridged(script, state) as (bridge, client):
        bridge.approve("up", await unpacked(script))
        await bridge.until_offered(GOOD)
        files = {**FILES, f"{ROOT}/references/a%20b.md": b"new"}
        archive = packed(ZIP, files)
        entry = entry_b(url=None, digest=None, archives=[archive_b(ZIP, archive)])
        script.files = {INDEX: index_of(entry), f"{ROOT}.zip": archive}  # the server notifies no one
        bridge.approve("up", await unpacked(script))
        await bridge.until(lambda: digest(b"new") in digests(bridge) and bridge.offered == {GOOD})
        assert "new" in text_of(
            await client.call_tool("skill-resource", {"skill": "good", "path": "references/a b.md"})
        )


@every_archive
@pytest.mark.parametrize("mode", ERAS)
async def test_trusted_server_has_its_archives_unpacked_in_the_background(
    made: Any, mode: Any, state: State
) -> None:
    script = made()
    async with bridged(script, state, mode, trust=True) as (bridge, client):
        await bridge.until_offered(GOOD)
        host = SkillsClient(client)
        assert await host.read(LOGO) == FILES[f"{ROOT}/logo.png"]
        assert (await verify_server(host)).outcome() is Outcome.VERIFIED
        assert held_back(bridge) == {}
    assert state.approvals.all() == []


async def test_failed_archive_of_a_trusted_server_is_fetched_once(state: State) -> None:
    script = ARCHIVED["b-zip"]()
    script.files = {**script.files, f"{ROOT}.zip": b"other bytes"}
    async with bridged(script, state, trust=True) as (bridge, _):
        await bridge.until(lambda: "it was listed as" in str(held_back(bridge)))
        for _ in range(3):
            await bridge.library.rescan_source(bridge.library.sources[0])
        assert fetched(script) == [f"{ROOT}.zip"]
        assert (bridge.offered, list(held_back(bridge))) == (set(), ["good/SKILL.md"])
        script.files = {**script.files, **ARCHIVED["a-tar"]().files}
        await bridge.library.rescan_source(bridge.library.sources[0])
        await bridge.until_offered(GOOD)


async def test_archives_unpacked_in_the_background_are_limited(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillwire.host.archive_fetcher.MAX_ARCHIVES", 1)
    made, other = packed(ZIP), {"name": "other", "description": "Does other."}
    second = entry_b(
        url=None, digest=None, frontmatter=other, archives=[{**archive_b(ZIP), "url": "skill://other.zip"}]
    )
    script = indexed(
        entry_b(url=None, digest=None, archives=[archive_b(ZIP)]), second, files={"skill://other.zip": made}
    )
    async with bridged(script, state, trust=True) as (bridge, _):
        await bridge.until_offered(GOOD)
        assert "are unpacked" in held_back(bridge)["other/SKILL.md"]
    assert fetched(script) == [f"{ROOT}.zip"]


UNUSABLE: dict[str, tuple[Callable[[], ScriptedServer], str]] = {
    "draft-c": (draft_c, "its server lists no sizes of its files (`draft-c`)"),
    "draft-a": (lambda: indexed(entry_a()), "its server lists only its name and description (`draft-a`)"),
    "no-digest": (
        lambda: indexed(entry_a(type="archive", url=f"{ROOT}.zip")),
        "its server lists only its name and description (`draft-a`)",
    ),
    "manifest": (with_manifests, "its server lists only its name and description (`manifest`)"),
    "scan": (scanned, "its server lists only its name and description (`scan`)"),
}


@pytest.mark.parametrize("trust", [True, False])
@pytest.mark.parametrize(("made", "reason"), UNUSABLE.values(), ids=UNUSABLE)
async def test_what_a_draft_cannot_promise_is_not_passed_on(
    made: Any, reason: str, trust: Any, state: State
) -> None:
    script = made()
    async with bridged(script, state, trust=trust) as (bridge, client):
        assert (await SkillsClient(client).list()).skills == []
        (told,) = held_back(bridge).values()
        assert reason in told
        assert "generated" not in told
        passed_on = [each.message for each in bridge.problems(Rule.SERVER_LIST)]
        assert any("skills passed on: 0 of 1" in each for each in passed_on)
        assert reason in (await SkillsClient(client).read("skillwire://problems")).decode()
    assert fetched(script) in ([], [f"{ROOT}/_manifest"])


@pytest.mark.rule("H17")
async def test_draft_document_is_passed_on_as_dynamic_with_its_reason(state: State) -> None:
    async with bridged(indexed(entry_b()), state) as (bridge, client):
        (listed,) = (await SkillsClient(client).list()).skills
        assert (listed.uri, listed.files) == (GOOD, None)
        assert await SkillsClient(client).read(GOOD) == FILES[MAIN]
        (told,) = bridge.withheld
        assert "its server lists no digests of its files" in told["message"]
        assert "`--trust up`" in told["hint"]
