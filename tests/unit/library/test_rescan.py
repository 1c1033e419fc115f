"""A source that could not be looked at is looked at again by itself, and clients get what they missed."""

import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from skillwire import FolderSource, Library, MemorySource
from skillwire.errors import SourceBusyError
from skillwire.server import skills_server
from skillwire.sources import (
    EVERYWHERE,
    FetchedSource,
    Fetcher,
    Locations,
    MemorySkill,
    Progress,
    Rule,
    Scan,
    Snapshot,
    ignore_progress,
)
from tests.support.clients import skill
from tests.support.listening import listening
from tests.support.peers import MODERN, PATIENCE, StdioPeer, skillwire
from tests.support.skills import skill_md, write_skill

ONE, TWO = "skill://one/SKILL.md", "skill://two/SKILL.md"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] - a fixture
    monkeypatch.setattr("skillwire.library.scanning._FIRST_RETRY", 0.01)


class Moody(MemorySource):
    """A source that cannot be looked at for the next `failures` times."""

    def __init__(self, *skills: MemorySkill, failures: int = 0) -> None:
        super().__init__(skills)
        self.failures = failures
        self.looks: list[Locations] = []

    async def scan(self, progress: Progress = ignore_progress) -> Scan:
        self._fail()
        return await super().scan(progress)

    async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
        self.looks.append(where)
        self._fail()
        return await super().scan()

    def _fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise SourceBusyError("too many open files")


class Following:
    """A library that is followed, and every set of problems that it had."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self.rules: list[list[Rule]] = []
        self._changed = anyio.Event()
        library.listen(lambda _: self._note())

    def _note(self) -> None:
        self.rules.append([problem.rule for problem in self._library.catalog.problems])
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, condition: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE):
            while not condition():
                await self._changed.wait()


@asynccontextmanager
async def followed(library: Library) -> AsyncGenerator[Following]:
    following = Following(library)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        yield following
        tasks.cancel_scope.cancel()


@pytest.mark.anyio
async def test_failed_scan_is_retried_until_it_succeeds() -> None:
    source = Moody(skill("one"))
    library = Library([source])
    await library.load()
    async with followed(library) as following:
        source.failures = 2
        source.put(skill("two"))
        await following.until(lambda: TWO in library.catalog.entries)
        assert following.rules == [[Rule.SOURCE_FAILED], []]
        assert len(source.looks) == 3


@pytest.mark.anyio
@pytest.mark.parametrize("frozen", [False, True])
async def test_source_that_fails_at_start_is_retried(*, frozen: bool) -> None:
    source = Moody(skill("one"), failures=3)
    library = Library([source], frozen=frozen)
    await library.load()
    assert [problem.rule for problem in library.catalog.problems] == [Rule.SOURCE_FAILED]
    async with followed(library) as following:
        await following.until(lambda: library.catalog.problems == ())
        assert list(library.catalog.entries) == ([] if frozen else [ONE])


@pytest.mark.anyio
async def test_added_source_that_fails_is_retried() -> None:
    library = Library([])
    await library.load()
    async with followed(library) as following:
        await library.serve([Moody(skill("one"), failures=2)])
        await following.until(lambda: ONE in library.catalog.entries)
        assert library.catalog.problems == ()


@pytest.mark.anyio
async def test_removed_source_is_not_retried() -> None:
    source = Moody(skill("one"))
    library = Library([source])
    await library.load()
    async with followed(library) as following:
        source.failures = 1_000_000
        source.put(skill("two"))
        await following.until(lambda: len(source.looks) > 0 and library.catalog.problems != ())
        await library.serve([])
        looks = len(source.looks)
        await library.serve([Moody(skill("three"), failures=3)])  # which takes longer than one more look
        await following.until(lambda: "skill://three/SKILL.md" in library.catalog.entries)
        assert len(source.looks) == looks


@pytest.mark.anyio
async def test_reading_one_skill_does_not_lose_the_change_of_another(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_skill(tmp_path, name)

    class Exhausted(FolderSource):
        failing = False

        async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
            if self.failing:
                raise SourceBusyError("too many open files")
            return await super().rescan(where)

    source = Exhausted(tmp_path)
    library = Library([source])
    await library.load()
    changed = str(tmp_path / "two/SKILL.md")
    (tmp_path / "two/SKILL.md").write_bytes(skill_md("two", "Another."))
    source.failing = True
    await library._update(source, frozenset({changed}))  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - what a watcher calls
    source.failing = False
    await library.read(ONE)
    assert library.catalog.entries[TWO].description == "Another."
    assert library.catalog.problems == ()


class Exhausting(Fetcher):
    """Has one folder after the other, and cannot fetch the second at first."""

    place = "somewhere"

    def __init__(self, *folders: Path, failures: int) -> None:
        self._folders = iter(folders)
        self._failures = failures
        self._fetched = 0

    async def fetch(self) -> Snapshot:
        self._fetched += 1
        if 1 < self._fetched <= 1 + self._failures:
            raise SourceBusyError("too many open files")
        folder = next(self._folders)
        return Snapshot(folder, folder.name)

    def last(self) -> Snapshot | None:
        return None

    async def changes(self, every: float) -> AsyncGenerator[None]:
        yield
        await anyio.sleep_forever()


@pytest.mark.anyio
async def test_a_fetch_that_fails_for_a_moment_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillwire.sources.fetched._FIRST_RETRY", 0.01)
    for name in ("one", "two"):
        write_skill(tmp_path / f"copy-{name}", name)
    mirror = Exhausting(tmp_path / "copy-one", tmp_path / "copy-two", failures=2)
    library = Library([FetchedSource(mirror, label="fetched")])
    await library.load()
    assert list(library.catalog.entries) == [ONE]
    async with followed(library) as following:
        await following.until(lambda: list(library.catalog.entries) == [TWO])
        assert following.rules == [[Rule.SOURCE_STALE], []]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_subscriber_gets_the_change_that_was_missed(mode: str) -> None:
    source = Moody(skill("one"))
    library = Library([source])
    await library.load()
    async with listening(skills_server(library), mode, [ONE]) as (_, heard):
        source.failures = 2
        source.put(skill("one", body="# Other steps\n"))
        await heard.until(ONE)


def _open_files(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))  # noqa: PTH208 - names are enough


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits another process, as only Linux can")
def test_a_change_while_out_of_descriptors_is_reported_later(tmp_path: Path) -> None:
    import resource  # noqa: PLC0415 - not on every system

    folder = write_skill(tmp_path, "one")
    with StdioPeer(MODERN, skillwire("serve", tmp_path, "--no-config")) as peer:
        _ = peer.handshake
        uris = [ONE, "skillwire://problems"]
        params = peer.enveloped({"notifications": {"resourceSubscriptions": uris}})
        listen = {"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params}
        assert peer.exchange(listen)["method"] == "notifications/subscriptions/acknowledged"
        process = peer.process.pid
        (folder / "SKILL.md").write_bytes(skill_md("one", "Second."))
        assert peer.receive()["params"]["uri"] == ONE  # so it is watched
        limits = resource.prlimit(process, resource.RLIMIT_NOFILE)
        resource.prlimit(process, resource.RLIMIT_NOFILE, (_open_files(process) // 2, limits[1]))
        try:
            (folder / "SKILL.md").write_bytes(skill_md("one", "Third."))
            assert peer.receive()["params"]["uri"] == "skillwire://problems"
        finally:
            resource.prlimit(process, resource.RLIMIT_NOFILE, limits)
        heard = {peer.receive()["params"]["uri"] for _ in uris}
        assert heard == set(uris)
        assert peer.result("skills/get", {"uri": ONE})["skill"]["frontmatter"]["description"] == "Third."
