"""A catalog that was amended after a change is the one that would have been made anew."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import FolderSource, MemorySource
from skillwire.library.compose import LabelledScan, compose, update_catalog
from skillwire.sources import MemorySkill
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


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_gives_the_same_catalog_either_way(tmp_path: Path, change: str) -> None:
    write_skill(tmp_path, "one", {"a.md": "a", "c/d.md": "d"})
    write_skill(tmp_path, "one/inner", {"b.md": "b"})
    write_skill(tmp_path, "two", {"a.md": "a"})
    write(tmp_path, {"broken/SKILL.md": "broken"})
    source = FolderSource(tmp_path)
    before = anyio.run(source.scan)
    catalog = compose([LabelledScan("x", before)])
    CHANGES[change](tmp_path)
    after = anyio.run(source.rescan, frozenset({str(tmp_path / "one")}))
    assert after == anyio.run(FolderSource(tmp_path).scan)
    scans = [LabelledScan("x", after)]
    found = update_catalog(catalog, before, after, scans)
    assert found in (None, compose(scans))
    assert found is not None, "a small change should not need a new catalog"


@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_updating_and_composing_agree_after_random_changes(random: Random, count: int) -> None:
    sources = [MemorySource(_skills(random), label=f"s{number}") for number in range(count)]
    scans = {source.label: anyio.run(source.scan) for source in sources}
    catalog = compose([LabelledScan(*item) for item in scans.items()])
    for _ in range(4):
        source = random.choice(sources)
        for skill in _skills(random):
            source.put(skill)
        for entry in scans[source.label].entries:
            if random.random() < 0.3:
                source.remove(entry.origin.location)
        before, after = scans[source.label], anyio.run(source.scan)
        scans[source.label] = after
        labelled = [LabelledScan(*item) for item in scans.items()]
        found = update_catalog(catalog, before, after, labelled)
        catalog = compose(labelled)
        assert found in (None, catalog)


@given(st.randoms(use_true_random=False))
def test_separate_skills_change_without_composing_anew(random: Random) -> None:
    paths = ["a", "b", "org/c", "org/team/d", "org/team/e", "other/f"]
    source = MemorySource([MemorySkill(path, _alone(random, path)) for path in paths[:3]])
    scan = anyio.run(source.scan)
    catalog = compose([LabelledScan("x", scan)])
    for _ in range(5):
        present = {entry.origin.location for entry in scan.entries}
        path = random.choice(paths)
        if path in present and random.random() < 0.5:
            source.remove(path)
        else:
            source.put(MemorySkill(path, _alone(random, path)))
        before, scan = scan, anyio.run(source.scan)
        amended_catalog = update_catalog(catalog, before, scan, [LabelledScan("x", scan)])
        assert amended_catalog == compose([LabelledScan("x", scan)])
        assert amended_catalog is not None
        catalog = amended_catalog


def _alone(random: Random, path: str) -> dict[str, bytes]:
    extra = random.sample(["n.md", "refs/x.md", "refs/deep/y.md"], k=random.randint(0, 3))
    return {
        "SKILL.md": skill_md(path.rpartition("/")[2], body=random.choice("xy")),
        **dict.fromkeys(extra, b"z"),
    }


def _skills(random: Random) -> list[MemorySkill]:
    paths = random.sample(["a", "b", "a/b", "a/b/c", "b/c", "c"], k=random.randint(1, 3))
    return [MemorySkill(path, _files(random, path)) for path in paths]


def _files(random: Random, path: str) -> dict[str, bytes]:
    extra = random.sample(["n", "b/SKILL.md", "b/n", "c/SKILL.md"], k=2)
    main = skill_md(path.rsplit("/", maxsplit=1)[-1], body=random.choice("xy"))
    return {"SKILL.md": main, **{name: random.choice([b"1", skill_md("b"), skill_md("c")]) for name in extra}}
