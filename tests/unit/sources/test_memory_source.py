"""Skills in memory: fixed bytes, and content made when it is read."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Literal

import mcp_types as types
import pytest
from mcp import Client
from pydantic import ConfigDict

from skillwire import Library, MemorySource
from skillwire.server import skills_server
from skillwire.sources import MemorySkill, Rule
from tests.support.skills import skill_md

pytestmark = pytest.mark.anyio


class AnyResult(types.Result):
    """Whatever the server answers."""

    model_config = ConfigDict(extra="allow")


class UriParams(types.RequestParams):
    uri: str


class ListSkills(types.Request[types.PaginatedRequestParams, Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"
    params: types.PaginatedRequestParams = types.PaginatedRequestParams()


class GetSkill(types.Request[UriParams, Literal["skills/get"]]):
    method: Literal["skills/get"] = "skills/get"
    params: UriParams


def counting(numbers: Iterator[int]) -> Callable[[], Awaitable[bytes]]:
    async def make() -> bytes:
        return skill_md("daily", body=f"Report number {next(numbers)}\n")

    return make


@pytest.mark.rule("S9")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_skill_made_by_function_is_dynamic_and_always_fresh(mode: str) -> None:
    source = MemorySource(
        [MemorySkill("reports/daily", {"SKILL.md": counting(iter(range(9))), "note.md": b"fixed"})]
    )
    library = Library([source])
    catalog = await library.load()
    (entry,) = catalog.entries.values()
    async with Client(skills_server(library), mode=mode) as client:
        uri = "skill://reports/daily/SKILL.md"
        assert (entry.uri, entry.dynamic) == (uri, True)
        entry_of = {"params": {"uri": uri}}
        listed = await client.session.send_request(ListSkills(), AnyResult)
        (skill,) = listed.model_dump()["skills"]
        assert (skill["uri"], skill["resources"]) == (uri, "dynamic")
        got = await client.session.send_request(GetSkill.model_validate(entry_of), AnyResult)
        assert got.model_dump()["skill"] == skill
        first, second = [await client.read_resource(uri) for _ in range(2)]
        assert first.contents != second.contents
        assert (await client.read_resource("skill://reports/daily/note.md")).contents


async def test_replaced_skill_is_visible_after_next_load() -> None:
    source = MemorySource([MemorySkill("one", {"SKILL.md": skill_md("one")})])
    library = Library([source])
    await library.load()
    source.put(MemorySkill("two", {"SKILL.md": skill_md("two")}))
    source.remove("one")
    assert [entry.path for entry in (await library.load()).entries.values()] == ["two"]


@pytest.mark.parametrize("path", ["/abs.md", "a//b.md", "../up.md", "a/./b.md", "a\\b.md", "a\nb.md", ""])
async def test_skill_with_unpublishable_file_path_is_refused(path: str) -> None:
    scan = await MemorySource([MemorySkill("one", {"SKILL.md": skill_md("one"), path: b"x"})]).scan()
    assert scan.entries == ()
    assert {problem.rule for problem in scan.problems} == {Rule.FILE_NAME}


@pytest.mark.rule("S4")
@pytest.mark.parametrize("path", ["", "/a", "a//b", "../a", "a/.", "a\nb", "a\\b"])
async def test_unpublishable_skill_path_is_refused(path: str) -> None:
    scan = await MemorySource([MemorySkill(path, {"SKILL.md": skill_md("ok")})]).scan()
    assert scan.entries == ()
    assert Rule.FILE_NAME in {problem.rule for problem in scan.problems}


async def test_skill_with_clashing_files_is_refused() -> None:
    for files in ({"a.md": b"", "A.md": b""}, {"a": b"", "a/b": b""}, {"caf\u00e9": b"", "cafe\u0301": b""}):
        scan = await MemorySource([MemorySkill("one", {"SKILL.md": skill_md("one"), **files})]).scan()
        assert scan.entries == ()
        assert scan.problems


async def test_failing_function_affects_only_its_skill() -> None:
    async def fail() -> bytes:
        raise ValueError("the password is hunter2")

    skills = [MemorySkill("bad", {"SKILL.md": fail}), MemorySkill("good", {"SKILL.md": skill_md("good")})]
    catalog = await Library([MemorySource(skills)]).load()
    assert list(catalog.entries) == ["skill://good/SKILL.md"]
    assert [problem.rule for problem in catalog.problems] == [Rule.SKILL_UNREADABLE]
    assert "hunter2" not in str(catalog.problems)


async def test_skill_without_skill_md_is_a_problem() -> None:
    scan = await MemorySource([MemorySkill("one", {"other.md": b"x"})]).scan()
    assert [problem.rule for problem in scan.problems] == [Rule.SKILL_UNREADABLE]
