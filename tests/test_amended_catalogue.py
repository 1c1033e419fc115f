"""A catalogue that was amended after a change is the one that would have been made anew."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire.catalog.amend import amended
from skillwire.catalog.compose import Labelled, compose
from skillwire.sources.directory import DirectorySource
from skillwire.sources.memory import MemorySkill, MemorySource
from tests.support.skills import skill_md, write, write_skill

CHANGES: dict[str, Callable[[Path], object]] = {
    "edit of a file": lambda root: write(root, {"one/a.md": "changed"}),
    "edit of a description": lambda root: write(root, {"one/SKILL.md": skill_md("one", "Another.")}),
    "new file": lambda root: write(root, {"one/new/file.md": "new"}),
    "new empty folder": lambda root: write(root, {"one/empty/": b""}),
    "file gone": lambda root: (root / "one/a.md").unlink(),
    "edit of a nested skill": lambda root: write(root, {"one/inner/b.md": "changed"}),
    "nested skill gone": lambda root: (root / "one/inner/SKILL.md").unlink(),
    "nested skill broken": lambda root: write(root, {"one/inner/SKILL.md": "broken"}),
    "new nested skill": lambda root: write_skill(root, "one/second"),
    "another name": lambda root: write(root, {"one/SKILL.md": skill_md("renamed")}),
    "a name that is shared": lambda root: write(root, {"one/SKILL.md": skill_md("two")}),
    "a new warning": lambda root: write(root, {"one/SKILL.md": skill_md("one", "x" * 2000)}),
    "nothing": lambda root: None,
}
SMALL = {
    "edit of a file",
    "edit of a description",
    "new file",
    "file gone",
    "edit of a nested skill",
    "nothing",
}


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_gives_the_same_catalogue_either_way(tmp_path: Path, change: str) -> None:
    write_skill(tmp_path, "one", {"a.md": "a", "c/d.md": "d"})
    write_skill(tmp_path, "one/inner", {"b.md": "b"})
    write_skill(tmp_path, "two", {"a.md": "a"})
    write(tmp_path, {"broken/SKILL.md": "broken"})
    source = DirectorySource(tmp_path)
    before = anyio.run(source.scan)
    catalog = compose([Labelled("x", before)])
    CHANGES[change](tmp_path)
    after = anyio.run(source.rescan, catalog.entries["skill://one/SKILL.md"])
    assert after == anyio.run(DirectorySource(tmp_path).scan)
    scans = [Labelled("x", after)]
    found = amended(catalog, before, after, scans)
    assert found in (None, compose(scans))
    if change in SMALL:
        assert found is not None, "a small change should not need a new catalogue"


@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_random_changes_in_several_sources_give_the_same_catalogue_either_way(
    random: Random, count: int
) -> None:
    sources = [MemorySource(_skills(random), label=f"s{number}") for number in range(count)]
    scans = {source.label: anyio.run(source.scan) for source in sources}
    catalog = compose([Labelled(*item) for item in scans.items()])
    for _ in range(4):
        source = random.choice(sources)
        for skill in _skills(random):
            source.put(skill)
        before, after = scans[source.label], anyio.run(source.scan)
        scans[source.label] = after
        labelled = [Labelled(*item) for item in scans.items()]
        found = amended(catalog, before, after, labelled)
        catalog = compose(labelled)
        assert found in (None, catalog)


def _skills(random: Random) -> list[MemorySkill]:
    paths = random.sample(["a", "b", "a/b", "a/b/c", "b/c", "c"], k=random.randint(1, 3))
    return [MemorySkill(path, _files(random, path)) for path in paths]


def _files(random: Random, path: str) -> dict[str, bytes]:
    extra = random.sample(["n", "b/SKILL.md", "b/n", "c/SKILL.md"], k=2)
    main = skill_md(path.rsplit("/", maxsplit=1)[-1], body=random.choice("xy"))
    return {"SKILL.md": main, **{name: random.choice([b"1", skill_md("b"), skill_md("c")]) for name in extra}}
