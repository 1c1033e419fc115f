"""A library while it runs: it gains and loses sources, becomes static and live again, and is decided upon."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from skillwire import FolderSource, Library, MemorySource
from skillwire.errors import ConflictError, NotServedError
from skillwire.library import Change
from skillwire.library.visibility import Override, VisibilityPolicy
from skillwire.server import skills_server
from skillwire.sources.placeholder import UnavailableSource
from tests.support.clients import skill
from tests.support.listening import listening
from tests.support.peers import PATIENCE
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio

ONE, TWO = "skill://one/SKILL.md", "skill://two/SKILL.md"


def memory(label: str, *names: str) -> MemorySource:
    return MemorySource([skill(name) for name in names], label=label)


class Told:
    """Every change that a library told of, and a way to wait for the next."""

    def __init__(self, library: Library) -> None:
        self.changes: list[Change] = []
        self._news = anyio.Event()
        library.listen(self._note)

    def _note(self, change: Change) -> None:
        self.changes.append(change)
        self._news.set()

    async def until(self, true: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE):
            while not true():
                self._news = anyio.Event()
                await self._news.wait()

    async def until_served(self, library: Library, uri: str) -> None:
        await self.until(lambda: uri in library.catalog.entries)


@asynccontextmanager
async def followed(library: Library) -> AsyncGenerator[None]:
    await library.load()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.follow)
        await anyio.lowlevel.checkpoint()
        yield
        tasks.cancel_scope.cancel()


async def test_added_source_is_served_and_notified_once() -> None:
    first = memory("first", "one")
    library = Library([first])
    await library.load()
    told = Told(library)
    await library.serve([first, memory("second", "two")])
    assert list(library.catalog.entries) == [ONE, TWO]
    assert [edit.after.uri for change in told.changes for edit in change.edits if edit.after] == [TWO]
    assert len(told.changes) == 1
    assert (await library.read(TWO)).content.startswith(b"---")


async def test_removed_source_removes_its_skills() -> None:
    first, second = memory("first", "one"), memory("second", "two")
    library = Library([first, second])
    await library.load()
    told = Told(library)
    await library.serve([first])
    assert list(library.catalog.entries) == [ONE]
    assert len(told.changes) == 1
    with pytest.raises(NotServedError):
        await library.read(TWO)
    assert [source.label for source in library.sources] == ["first"]


async def test_remaining_source_is_not_rescanned() -> None:
    first = memory("first", "one")
    library = Library([first])
    before = (await library.load()).entries[ONE]
    await library.serve([memory("second", "two"), first])
    assert library.catalog.entries[ONE] is before
    assert list(library.catalog.entries) == [TWO, ONE]  # in the order that was asked for


async def test_the_order_decides_who_keeps_a_path() -> None:
    first, second = memory("first", "one"), memory("second", "one")
    library = Library([first, second])
    await library.load()
    assert "skill://second/one/SKILL.md" in library.catalog.entries
    await library.serve([second])
    assert list(library.catalog.entries) == [ONE]
    assert library.catalog.entries[ONE].origin.source == "second"


async def test_source_added_while_following_is_followed(tmp_path: Path) -> None:
    write_skill(tmp_path / "a", "one")
    write_skill(tmp_path / "b", "two")
    first = FolderSource(tmp_path / "a")
    library = Library([first])
    told = Told(library)
    async with followed(library):
        await library.serve([first, FolderSource(tmp_path / "b")])
        write_skill(tmp_path / "b", "three")
        await told.until_served(library, "skill://three/SKILL.md")
        write_skill(tmp_path / "a", "four")
        await told.until_served(library, "skill://four/SKILL.md")


async def test_removed_source_causes_no_changes() -> None:
    first, second = memory("first", "one"), memory("second", "two")
    library = Library([first, second])
    told = Told(library)
    async with followed(library):
        await library.serve([first])
        second.put(skill("late"))
        first.put(skill("last"))
        await told.until_served(library, "skill://last/SKILL.md")
        await library.rescan_source(second)  # somebody who held on to it
        assert set(library.catalog.entries) == {ONE, "skill://last/SKILL.md"}


async def test_a_label_can_be_given_to_another_source() -> None:
    library = Library([memory("same", "one")])
    async with followed(library):
        other = memory("same", "two")
        await library.serve([other])
        assert list(library.catalog.entries) == [TWO]
        told = Told(library)
        other.put(skill("three"))
        await told.until_served(library, "skill://three/SKILL.md")


async def test_two_sources_of_one_label_are_refused_and_nothing_changes() -> None:
    first = memory("same", "one")
    library = Library([first])
    await library.load()
    with pytest.raises(ConflictError):
        await library.serve([first, memory("same", "two")])
    assert list(library.catalog.entries) == [ONE]


async def test_a_source_that_fails_is_a_problem_beside_the_others() -> None:
    first = memory("first", "one")
    library = Library([first])
    await library.load()
    await library.serve([first, UnavailableSource("broken", "nowhere", "it is broken")])
    assert list(library.catalog.entries) == [ONE]
    assert [problem.rule for problem in library.catalog.problems] == ["source-failed"]
    await library.serve([first])
    assert library.catalog.problems == ()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_clients_are_notified_when_sources_change(mode: str) -> None:
    first = memory("first", "one")
    library = Library([first])
    await library.load()
    async with listening(skills_server(library), mode, [ONE]) as (_, heard):
        await library.serve([first, memory("second", "two")])
        await heard.until_true(lambda: {"prompts", "resources"} <= set(heard.all))
        heard.take()
        await library.serve([first])
        await heard.until_true(lambda: {"prompts", "resources"} <= set(heard.all))


async def test_a_frozen_library_has_the_new_sources_and_stays_so() -> None:
    first, second = memory("first", "one"), memory("second", "two")
    library = Library([first], frozen=True)
    async with followed(library):
        await library.serve([first, second])
        assert list(library.loaded.entries) == [ONE, TWO]
        second.put(skill("three"))
        await library.rescan_source(second)
        assert list(library.catalog.entries) == [ONE, TWO]


async def test_unfreezing_finds_skills_added_while_frozen() -> None:
    source = memory("first", "one")
    library = Library([source])
    told = Told(library)
    async with followed(library):
        await library.freeze(frozen=True)
        source.put(skill("two"))
        await library.rescan_source(source)
        assert list(library.catalog.entries) == [ONE]
        await library.freeze(frozen=False)
        assert list(library.catalog.entries) == [ONE, TWO]
        source.put(skill("three"))
        await told.until_served(library, "skill://three/SKILL.md")


async def test_earlier_subscriptions_are_followed_while_frozen(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one")
    library = Library([FolderSource(tmp_path)])
    async with followed(library):
        library.subscribe([ONE])
        await library.freeze(frozen=True)
        told = Told(library)
        before = library.catalog.entries[ONE]
        (folder / "SKILL.md").write_bytes(b"---\nname: one\ndescription: Another.\n---\nbody\n")
        await told.until(lambda: library.catalog.entries[ONE] != before)
    assert library.loaded.entries[ONE] == before


async def test_visibility_change_affects_only_its_skills() -> None:
    library = Library([memory("first", "one", "two")])
    await library.load()
    told = Told(library)
    await library.set_visibility(VisibilityPolicy({ONE: Override(user=False)}))
    assert told.changes[-1].visibility_changed_uris == {ONE}
    await library.set_visibility(VisibilityPolicy({ONE: Override(user=False)}))  # the same again
    assert len(told.changes) == 1
    await library.serve([memory("other", "one")])
    assert library.catalog.visibility.of(library.catalog.entries[ONE]).user is False


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_clients_are_notified_of_visibility_changes(mode: str) -> None:
    library = Library([memory("first", "one", "two")])
    await library.load()
    async with listening(skills_server(library), mode, [ONE]) as (client, heard):
        await library.set_visibility(VisibilityPolicy({ONE: Override(user=False)}))
        await heard.until_true(lambda: "prompts" in heard.all)
        assert heard.take() == ["prompts"]
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["skill", "two"]
        await library.set_visibility(VisibilityPolicy())
        await heard.until_true(lambda: "prompts" in heard.all)
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["skill", "one", "two"]
