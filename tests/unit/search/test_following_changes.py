"""What a search finds while the library changes."""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest
from mcp import Client

from skillwire import FolderSource, Library, MemorySource, ServeOptions
from skillwire.core.record import LiveFile, SkillFile, SkillRecord
from skillwire.errors import SourceError
from skillwire.library.search import Audience
from skillwire.library.visibility import Override, VisibilityPolicy
from skillwire.search.index import Index, Ranking
from skillwire.search.store import IndexStore
from skillwire.search.tool import SearchOptions
from skillwire.server import skills_server
from tests.support.listening_client import ListeningClient, listening_client
from tests.support.peers import PATIENCE
from tests.support.searching import library_with_index, searchable, stored_files
from tests.support.skills import skill_md, write

pytestmark = pytest.mark.anyio


async def names(library: Library, query: str, audience: Audience = Audience.MODELS) -> list[str]:
    return [each.name for each in (await library.search(query, audience=audience)).results]


@asynccontextmanager
async def served(library: Library, mode: str) -> AsyncGenerator[ListeningClient]:
    """Yield a client of a server that follows its sources."""
    await library.load()
    server = skills_server(library, options=ServeOptions(additions=(SearchOptions(),)))
    async with anyio.create_task_group() as tasks:
        async with listening_client(partial(Client, server), mode) as client:
            tasks.start_soon(library.follow)
            yield client
        tasks.cancel_scope.cancel()


async def found_by(client: Client, query: str) -> list[str]:
    result = await client.call_tool("search-skills", {"query": query})
    assert result.structured_content is not None, result
    return [each["name"] for each in result.structured_content["results"]]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_skill_is_found_when_its_notification_was_sent(mode: str) -> None:
    source = MemorySource([searchable("old", "refund")])
    async with served(Library([source]), mode) as listener:
        assert await found_by(listener.client, "refund") == ["old"]
        source.put(searchable("new", "refund"))
        await listener.wait_for_list_change()
        assert sorted(await found_by(listener.client, "refund")) == ["new", "old"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_removed_skill_is_gone_when_its_notification_was_sent(mode: str) -> None:
    source = MemorySource([searchable("old", "refund"), searchable("other", "refund")])
    async with served(Library([source]), mode) as listener:
        source.remove("old")
        await listener.wait_for_list_change()
        assert await found_by(listener.client, "refund") == ["other"]


class Interrupting(MemorySource):
    """A source that calls a function when a skill is read."""

    during_read: Callable[[], None] | None = None

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        content = await super().read(entry, file)
        if self.during_read is not None:
            self.during_read()
        return content


async def test_skill_removed_during_a_search_never_breaks_it() -> None:
    source = Interrupting([searchable(name, "refund") for name in ("one", "two", "three")])
    library = library_with_index(source)
    await names(library, "refund")
    source.during_read = lambda: source.put(searchable("four", "refund"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        with anyio.fail_after(PATIENCE):
            while "four" not in (found := await names(library, "refund")):
                assert {"one", "two", "three"} >= set(found)
            source.remove("two")
            while "two" in (found := await names(library, "refund")):
                assert set(found) <= {"one", "two", "three", "four"}
        tasks.cancel_scope.cancel()
    assert sorted(await names(library, "refund")) == ["four", "one", "three"]


def during_ranking(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[], Coroutine[None, None, None]]
) -> None:
    """Call `change` while the next search ranks, in its thread."""
    rank = Index.rank

    def changing(*arguments: Any) -> Ranking:
        monkeypatch.setattr(Index, "rank", rank)
        ranking = rank(*arguments)
        anyio.from_thread.run(change)
        return ranking

    monkeypatch.setattr(Index, "rank", changing)


async def test_skill_hidden_during_a_search_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    library = library_with_index(MemorySource([searchable("one", "refund"), searchable("two", "refund")]))
    assert await names(library, "refund") == ["one", "two"]
    hidden = VisibilityPolicy({"skill://one/SKILL.md": Override(assistant=False)})
    during_ranking(monkeypatch, lambda: library.set_visibility(hidden))
    found = await library.search("refund", audience=Audience.MODELS)
    assert ([each.name for each in found.results], found.total) == (["two"], 1)


async def test_skill_removed_while_a_search_ranks_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    source = MemorySource([searchable("one", "refund"), searchable("two", "refund")])
    library = library_with_index(source)
    assert await names(library, "refund") == ["one", "two"]
    source.remove("one")
    during_ranking(monkeypatch, lambda: library.rescan_source(source))
    found = await library.search("refund")
    assert ([each.name for each in found.results], found.total) == (["two"], 1)
    assert await names(library, "refund") == ["two"]


class Failing(MemorySource):
    """A source whose files cannot be read at first."""

    fails = True

    async def read(self, entry: SkillRecord, file: SkillFile | LiveFile) -> bytes:
        if self.fails:
            raise SourceError("the source is away")
        return await super().read(entry, file)


async def test_text_that_could_not_be_read_is_indexed_later() -> None:
    source = Failing([searchable("one", "refund", "kubernetes")])
    library = library_with_index(source)
    assert await names(library, "refund") == ["one"]
    assert await names(library, "kubernetes") == []
    source.fails = False
    source.put(searchable("two", "invoice"))
    await library.rescan_source(source)
    assert await names(library, "kubernetes") == ["one"]


async def test_hidden_skill_that_is_read_later_stays_hidden() -> None:
    source = Failing([searchable("hidden", "", "# Kubernetes", "disable-model-invocation: true\n")])
    other = MemorySource([searchable("shown", "a cluster", "Runs kubernetes.")], label="other")
    library = library_with_index(source, other)
    assert await names(library, "cluster") == ["shown"]
    source.fails = False
    other.put(searchable("new", "a cluster"))
    await library.rescan_source(other)
    found = await library.search("kuberntes", audience=Audience.MODELS)
    assert (found.results, found.corrections) == ((), {})
    found = await library.search("kuberntes", audience=Audience.PEOPLE)
    assert found.corrections == {"kuberntes": "kubernetes"}


async def test_static_library_finds_the_skills_that_it_lists() -> None:
    source = MemorySource([searchable("one", "refund"), searchable("two", "refund")])
    library = Library([source], frozen=True)
    await library.load()
    assert await names(library, "refund") == ["one", "two"]
    source.put(searchable("three", "refund"))
    source.remove("two")
    await library.rescan_source(source)
    listed = [each.name for each in library.loaded.entries.values()]
    assert await names(library, "refund") == listed == ["one", "two"]
    await library.set_visibility(VisibilityPolicy({"skill://one/SKILL.md": Override(assistant=False)}))
    assert await names(library, "refund") == ["two"]
    await library.freeze(frozen=False)
    assert await names(library, "refund") == ["three"]


async def test_sources_added_and_removed_at_run_time_are_followed(tmp_path: Path) -> None:
    write(tmp_path, {"disk/SKILL.md": skill_md("disk", "Does refunds.")})
    one, two = MemorySource([searchable("one", "refund")]), FolderSource(tmp_path, label="two")
    library = library_with_index(one, folder=tmp_path / "search")
    assert await names(library, "refund") == ["one"]
    await library.serve([one, two])
    assert sorted(await names(library, "refund")) == ["disk", "one"]
    await library.serve([two])
    assert await names(library, "refund") == ["disk"]
    await library.serve([])
    assert await names(library, "refund") == []


async def test_same_skill_from_another_source_is_found_once() -> None:
    one = MemorySource([searchable("same", "refund")], label="one")
    two = MemorySource([searchable("same", "invoice")], label="two")
    library = library_with_index(one, two)
    assert len(await names(library, "same")) == 2
    await library.serve([two])
    assert await names(library, "same") == ["same"]
    assert await names(library, "refund") == []


async def test_index_of_an_emptied_library_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty index file of the same sources must not be taken for one that another process has built."""
    monkeypatch.setattr("skillwire.search.service._MANY", 2)
    monkeypatch.setattr("skillwire.search.service._PAUSE", 0)
    source = MemorySource([searchable(name, "refund") for name in ("one", "two", "three")])
    library = library_with_index(source, folder=tmp_path)
    assert len(await names(library, "refund")) == 3
    (stored,) = stored_files(tmp_path)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        for name in ("one", "two", "three"):
            source.remove(name)
        with anyio.fail_after(PATIENCE):
            while stored.exists():  # noqa: ASYNC110 - no event reports a stored file
                await anyio.sleep(0.02)
        tasks.cancel_scope.cancel()
    other = MemorySource([searchable(name, "refund") for name in ("four", "five")])
    with anyio.fail_after(PATIENCE):
        assert len(await names(library_with_index(other, folder=tmp_path), "refund")) == 2


async def test_many_changes_without_a_search_are_indexed_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.search.service._MAX_CHANGES", 3)
    source = MemorySource([searchable("one", "refund")])
    library = library_with_index(source)
    assert await names(library, "refund") == ["one"]
    for number in range(8):
        source.put(searchable(f"s{number}", "invoice"))
        await library.rescan_source(source)
    source.remove("s3")
    source.put(searchable("one", "invoice"))
    await library.rescan_source(source)
    assert len(await names(library, "invoice")) == 8
    assert await names(library, "refund") == []


async def test_other_process_that_builds_never_delays_a_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillwire.search.service._MANY", 2)
    monkeypatch.setattr("skillwire.search.service._PAUSE", 0)
    monkeypatch.setattr("skillwire.search.service._PATIENCE", 0.2)
    source = MemorySource([searchable(name, "refund") for name in ("one", "two", "three")])
    library = library_with_index(source, folder=tmp_path)
    lock = IndexStore(tmp_path, [source]).lock()
    assert lock is not None
    assert lock.try_lock()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        await anyio.wait_all_tasks_blocked()  # the background work has begun
        with anyio.fail_after(PATIENCE):
            found = await library.search("refund")
            assert (found.results, found.incomplete) == ((), True)
            lock.release()
            while (found := await library.search("refund")).incomplete:
                pass
        assert found.total == 3
        tasks.cancel_scope.cancel()


async def test_concurrent_searches_and_changes_agree_with_the_catalog() -> None:
    source = MemorySource([searchable(f"s{number}", "refund") for number in range(30)])
    library = library_with_index(source)
    await library.load()

    async def search() -> None:
        for _ in range(10):
            found = await library.search("refund", limit=50)
            assert {each.uri for each in found.results} <= {f"skill://s{at}/SKILL.md" for at in range(60)}
            assert found.total == len(found.results)

    async def change() -> None:
        for number in range(10):
            source.remove(f"s{number}")
            source.put(searchable(f"s{30 + number}", "refund"))
            await library.rescan_source(source)

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(search)
        tasks.start_soon(change)
    assert (await library.search("refund", limit=50)).total == 30
