"""Fetched sources of a running server: updates arrive, and a failed fetch loses nothing."""

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from skillwire import Library
from skillwire.errors import SourceError
from skillwire.server import skills_server
from skillwire.sources import FetchedSource, Fetcher, Snapshot
from skillwire.sources.git.address import Repository
from skillwire.sources.git.source import GitFetcher
from skillwire.sources.web.source import WebFetcher
from tests.support.git_fetchers import plain_git, skill
from tests.support.git_server import Origin
from tests.support.listening import listening
from tests.support.peers import PATIENCE, StdioPeer, skillwire
from tests.support.skills import skill_md, write_skill
from tests.support.web_site import PublishingSite

pytestmark = pytest.mark.anyio


async def test_git_push_reaches_clients_of_running_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_git(monkeypatch)
    origin = Origin(tmp_path / "origin")
    origin.commit(skill("first"))
    mirror = GitFetcher(Repository.parse(f"git+file://{origin.folder}"), tmp_path / "cache")
    library = Library([FetchedSource(mirror, label="repo", every=0.05, live=True)])
    await library.load()
    async with listening(skills_server(library), "auto") as (client, heard):
        origin.commit(skill("second"))
        await heard.until("prompts", "resources")
        uris = [str(each.uri) for each in (await client.list_resources()).resources]
        assert uris[:-1] == ["skill://first/SKILL.md", "skill://second/SKILL.md"]


async def test_unreachable_web_source_is_reported_and_still_served(tmp_path: Path) -> None:
    with PublishingSite() as site:
        site.index(site.offer("first", {"SKILL.md": skill_md("first")}))
        mirror = WebFetcher(site.origin, tmp_path / "cache")
        library = Library([FetchedSource(mirror, label="site", every=0.05)])
        await library.load()
        async with listening(skills_server(library), "auto", ["skillwire://problems"]) as (client, heard):
            site.index(
                site.offer("first", {"SKILL.md": skill_md("first")}),
                site.offer("second", {"SKILL.md": skill_md("second")}),
            )
            await heard.until("resources")
            site.go_offline()
            await heard.until("skillwire://problems")
            assert [problem.rule for problem in library.catalog.problems] == ["source-stale"]
            read = await client.read_resource("skill://second/SKILL.md")
            assert read.contents


class Scripted(Fetcher):
    """A fetcher whose snapshots and timing are set by the test."""

    place = "elsewhere"

    def __init__(self, last: Snapshot | None = None) -> None:
        self._last = last
        self.next: Snapshot | SourceError = SourceError("not yet")
        self.fetched = 0
        self.may_fetch = anyio.Event()

    async def fetch(self) -> Snapshot:
        self.fetched += 1
        await self.may_fetch.wait()
        if isinstance(self.next, SourceError):
            raise self.next
        return self.next

    def last(self) -> Snapshot | None:
        return self._last

    async def changes(self, every: float) -> AsyncGenerator[None]:
        await anyio.sleep_forever()
        yield


async def test_live_start_serves_last_snapshot_before_fetching(tmp_path: Path) -> None:
    write_skill(tmp_path / "1", "old")
    write_skill(tmp_path / "2", "new")
    mirror = Scripted(last=Snapshot(tmp_path / "1", "1"))
    library = Library([FetchedSource(mirror, label="x", live=True)])
    with anyio.fail_after(PATIENCE):
        assert list((await library.load()).entries) == ["skill://old/SKILL.md"]
    assert mirror.fetched == 0
    mirror.next = Snapshot(tmp_path / "2", "2")
    changed = anyio.Event()
    library.listen(lambda _: changed.set())
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(library.follow)
            mirror.may_fetch.set()
            await changed.wait()
            tasks.cancel_scope.cancel()
    assert list(library.catalog.entries) == ["skill://new/SKILL.md"]


async def test_single_scan_fetches_first(tmp_path: Path) -> None:
    write_skill(tmp_path / "1", "old")
    write_skill(tmp_path / "2", "new")
    mirror = Scripted(last=Snapshot(tmp_path / "1", "1"))
    mirror.next = Snapshot(tmp_path / "2", "2")
    mirror.may_fetch.set()
    scan = await FetchedSource(mirror, label="x").scan()
    assert [entry.name for entry in scan.entries] == ["new"]


async def test_slow_first_fetch_does_not_delay_other_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillwire.sources.fetched._START_SECONDS", 0.01)
    write_skill(tmp_path / "1", "late")
    mirror = Scripted()
    library = Library([FetchedSource(mirror, label="x", live=True)])
    with anyio.fail_after(PATIENCE):
        (problem,) = (await library.load()).problems
        assert "it is still being fetched" in problem.message
        mirror.next = Snapshot(tmp_path / "1", "1")
        mirror.may_fetch.set()
        changed = anyio.Event()
        library.listen(lambda _: changed.set())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(library.follow)
            await changed.wait()
            tasks.cancel_scope.cancel()
    assert list(library.catalog.entries) == ["skill://late/SKILL.md"]
    assert library.catalog.problems == ()


def test_server_started_offline_serves_last_good_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_git(monkeypatch)
    monkeypatch.setenv("SKILLWIRE_CACHE_DIR", str(tmp_path / "cache"))
    origin = Origin(tmp_path / "origin")
    origin.commit(skill("first"))
    command = skillwire("serve", f"git+file://{origin.folder}")
    with StdioPeer("2025-11-25", command) as peer:
        assert [each["uri"] for each in peer.result("skills/list")["skills"]] == ["skill://first/SKILL.md"]
    origin.folder.rename(tmp_path / "away")
    with StdioPeer("2025-11-25", command) as peer:
        assert [each["uri"] for each in peer.result("skills/list")["skills"]] == ["skill://first/SKILL.md"]


async def test_snapshot_in_use_is_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_git(monkeypatch)
    origin = Origin(tmp_path / "origin")
    origin.commit(skill("first"))
    address = Repository.parse(f"git+file://{origin.folder}")
    library = Library([FetchedSource(GitFetcher(address, tmp_path / "cache"), label="repo")], frozen=True)
    await library.load()
    for number in range(3):  # others share the cache, and move on
        origin.commit({"first/SKILL.md": skill_md("first", f"Version {number}.")})
        await GitFetcher(address, tmp_path / "cache").fetch()
    assert (await library.read("skill://first/SKILL.md")).content == skill_md("first")
    del library
    origin.commit({"first/SKILL.md": skill_md("first", "The last.")})
    await GitFetcher(address, tmp_path / "cache").fetch()
    assert len(list((tmp_path / "cache/git").glob("*/commit-*"))) == 2
