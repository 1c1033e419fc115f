"""Skills that live in the program: fixed bytes, and content made at read time."""

from collections.abc import Awaitable, Callable, Iterator

import pytest
from mcp import Client

from skillwire.catalog.library import Library
from skillwire.model.problem import Rule
from skillwire.server.skills import skills_server
from skillwire.sources.memory import MemorySkill, MemorySource
from tests.support.skills import skill_md

pytestmark = pytest.mark.anyio


def counting(numbers: Iterator[int]) -> Callable[[], Awaitable[bytes]]:
    async def make() -> bytes:
        return skill_md("daily", body=f"Report number {next(numbers)}\n")

    return make


@pytest.mark.rule("S9")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_skill_made_at_read_time_is_dynamic_and_fresh_on_every_read(mode: str) -> None:
    source = MemorySource(
        [MemorySkill("reports/daily", {"SKILL.md": counting(iter(range(9))), "note.md": b"fixed"})]
    )
    library = Library([source])
    catalog = await library.load()
    (entry,) = catalog.entries.values()
    async with Client(skills_server(library), mode=mode) as client:
        uri = "skill://reports/daily/SKILL.md"
        assert (entry.uri, entry.dynamic) == (uri, True)
        first, second = [await client.read_resource(uri) for _ in range(2)]
        assert first.contents != second.contents
        assert (await client.read_resource("skill://reports/daily/note.md")).contents


async def test_a_skill_put_in_its_place_shows_with_the_next_load() -> None:
    source = MemorySource([MemorySkill("one", {"SKILL.md": skill_md("one")})])
    library = Library([source])
    await library.load()
    source.put(MemorySkill("two", {"SKILL.md": skill_md("two")}))
    source.remove("one")
    assert [entry.path for entry in (await library.load()).entries.values()] == ["two"]


@pytest.mark.parametrize("path", ["/abs.md", "a//b.md", "../up.md", "a/./b.md", "a\\b.md", "a\nb.md", ""])
async def test_a_path_that_cannot_be_published_keeps_the_skill_out(path: str) -> None:
    scan = await MemorySource([MemorySkill("one", {"SKILL.md": skill_md("one"), path: b"x"})]).scan()
    assert scan.entries == ()
    assert {problem.rule for problem in scan.problems} == {Rule.FILE_NAME}


async def test_a_skill_without_its_main_file_is_a_problem() -> None:
    scan = await MemorySource([MemorySkill("one", {"other.md": b"x"})]).scan()
    assert [problem.rule for problem in scan.problems] == [Rule.SKILL_UNREADABLE]
