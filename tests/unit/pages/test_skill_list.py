"""The list of all skills in parts: complete, in listing order, and with counts of the whole catalog."""

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import anyio
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import Library, MemorySource
from skillwire.errors import BadParamsError
from skillwire.library.catalog import Catalog
from skillwire.pages.apps import SKILLS_SCHEMA
from skillwire.pages.overview import Overview
from skillwire.pages.skill_list import SkillList, find_words
from skillwire.sources import MemorySkill
from tests.support.skills import skill_md

pytestmark = pytest.mark.anyio

NAMES = st.sampled_from(["alpha", "beta", "gamma", "delta"])
folders = st.lists(st.tuples(st.sampled_from("abcdefgh"), NAMES), max_size=20, unique=True)
sources = st.tuples(folders, folders)


class NothingToChange:
    """As much of an `Admin` as an overview of a library in memory needs."""

    editable = False

    def sources(self) -> tuple[()]:
        return ()

    def listen(self, _listener: object) -> Callable[[], None]:
        return lambda: None


def memory(label: str, skills: list[tuple[str, str]]) -> MemorySource:
    texts = {f"{folder}/{name}": skill_md(name, f"Does {name} for {folder}.") for folder, name in skills}
    found = [MemorySkill(path, {"SKILL.md": text}) for path, text in texts.items()]
    return MemorySource(found, label=label)


def load(*given: list[tuple[str, str]]) -> Library:
    library = Library([memory(f"source-{at}", skills) for at, skills in enumerate(given)])
    anyio.run(library.load)
    return library


def catalog(*given: list[tuple[str, str]]) -> Catalog:
    return load(*given).catalog


@given(sources, st.integers(1, 12))
def test_parts_together_are_all_skills_in_order(given: tuple[list[tuple[str, str]], ...], size: int) -> None:
    found = catalog(*given)
    skills = SkillList(found)
    parts = [skills.part(offset, size) for offset in range(0, len(found.entries) + size, size)]
    assert all(len(part) <= size for part in parts)
    assert [entry for part in parts for entry in part] == list(found.entries.values())


@given(sources, st.integers(1, 12))
def test_the_part_of_each_skill_is_found(given: tuple[list[tuple[str, str]], ...], size: int) -> None:
    found = catalog(*given)
    skills = SkillList(found)
    for entry in found.entries.values():
        offset = skills.offset_of(entry.uri, size)
        assert offset is not None
        assert offset % size == 0
        assert entry in skills.part(offset, size)
    assert skills.offset_of("skill://nothing/SKILL.md", size) is None


@given(sources)
def test_counts_and_repeated_names_cover_all_skills(given: tuple[list[tuple[str, str]], ...]) -> None:
    found = catalog(*given)
    skills = SkillList(found)
    entries = found.entries.values()
    assert skills.served == Counter(entry.origin.source for entry in entries)
    assert skills.withheld == Counter()
    often = Counter(entry.name for entry in entries)
    assert all(skills.is_repeated(entry) == (often[entry.name] > 1) for entry in entries)


@given(sources, st.lists(st.sampled_from(["a", "lph", "beta", "does", "source-1", "zzz"]), max_size=3))
def test_a_filter_returns_exactly_the_skills_with_every_word(
    given: tuple[list[tuple[str, str]], ...], words: list[str]
) -> None:
    found = catalog(*given)

    def text(uri: str) -> str:
        entry = found.entries[uri]
        return f"{entry.path} {entry.name} {entry.description} {entry.origin.source}".casefold()

    expected = [uri for uri in found.entries if all(word in text(uri) for word in words)]
    result = anyio.run(SkillList(found).find, words)
    assert [entry.uri for entry in result] == expected


async def test_a_long_filter_lets_other_tasks_run() -> None:
    entries = list((await Library([memory("one", [("a", "alpha")])]).load()).entries.values()) * 2000
    steps = 0

    async def count() -> None:
        nonlocal steps
        while True:
            steps += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        assert len(await find_words(entries, ["alpha"])) == 2000
        tasks.cancel_scope.cancel()
    assert steps > 1


# The overview


@pytest.fixture
async def overview() -> Overview:
    library = Library([memory("one", [(f"team-{number:03}", "alpha") for number in range(120)])])
    await library.load()
    return Overview(library, cast("Any", NothingToChange()))


async def test_a_part_around_a_skill_is_aligned(overview: Overview) -> None:
    whole: Any = overview.skills(0, 500)
    uris = [each["uri"] for each in whole["skills"]]
    page: Any = overview.skills(0, 50, around=uris[77])
    assert (page["offset"], page["total"]) == (50, 120)
    assert [each["uri"] for each in page["skills"]] == uris[50:100]
    jsonschema.validate(page, SKILLS_SCHEMA)
    gone: Any = overview.skills(100, 50, around="skill://gone/SKILL.md")
    assert (gone["offset"], len(gone["skills"])) == (100, 20)
    nothing: Any = overview.skills(0, 0, around=uris[77])
    assert (nothing["total"], nothing["skills"]) == (120, [])


async def test_a_filtered_list_has_parts_and_follows_changes(
    overview: Overview, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "skillwire.search.service", None)
    page: Any = await overview.search("team-1", 10, offset=10)
    assert (page["total"], page["offset"], len(page["skills"])) == (20, 10, 10)
    source = cast("MemorySource", overview.library.sources[0])
    source.remove("team-100/alpha")
    await overview.library.rescan_source(source)
    page = await overview.search("team-1", 10, offset=10)
    assert (page["total"], len(page["skills"])) == (19, 9)
    with pytest.raises(BadParamsError, match="32 different words"):
        await overview.search(" ".join(map(str, range(33))), 10)


async def test_every_skill_with_a_repeated_name_says_so(overview: Overview) -> None:
    page: Any = overview.skills(0, 500)
    assert {each["repeated"] for each in page["skills"]} == {True}
    alone = Library([memory("one", [("a", "alpha"), ("b", "beta")])])
    await alone.load()
    page = Overview(alone, cast("Any", NothingToChange())).skills(0, 10)
    assert {each["repeated"] for each in page["skills"]} == {False}
