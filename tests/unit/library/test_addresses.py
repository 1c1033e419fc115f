"""Every URI of a catalog is found from the skills alone, as if each had been written down."""

from collections import defaultdict
from random import Random

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import Catalog, MemorySource, SkillRecord
from skillwire.core.names import parent_uri, parents
from skillwire.errors import NotServedError
from skillwire.library.compose import LabelledScan, compose
from skillwire.sources import MemorySkill
from tests.support.skills import skill_md

FILES = ("notes.md", "more/notes.md", "more/deep/list.txt", "a b.md", "é/ü.md", "50%.md", "c:d@e.md")


def _catalog(skills: list[MemorySkill]) -> Catalog:
    return compose([LabelledScan("x", anyio.run(MemorySource(skills).scan))])


def _nested(random: Random) -> list[MemorySkill]:
    """Return skills at random places; what stands in the folder of another is mostly on its list, too."""
    contents: dict[str, dict[str, bytes]] = {}
    for path in random.sample(["a", "b", "org/c", "org/team/d", "a/inner", "a/x/second", "org/team"], 4):
        files = {each: each.encode() for each in random.sample(FILES, random.randint(0, 4))}
        contents[path] = {"SKILL.md": skill_md(path.rpartition("/")[2]), **files}
    for outer, files in contents.items():
        for inner, others in contents.items():
            if inner.startswith(f"{outer}/") and random.random() < 0.8:
                files |= {f"{inner[len(outer) + 1 :]}/{path}": content for path, content in others.items()}
    return [MemorySkill(path, dict(files)) for path, files in contents.items()]


def _owners(entries: list[SkillRecord]) -> dict[str, SkillRecord]:
    owners: dict[str, SkillRecord] = {}
    for entry in sorted(entries, key=lambda entry: len(entry.root)):
        owners |= {entry.uri_of(file.path): entry for file in entry.files}
    return owners


def _children(entries: list[SkillRecord]) -> dict[str, tuple[str, ...]]:
    children: defaultdict[str, set[str]] = defaultdict(set)
    for entry in entries:
        folders = [entry.root, *map(entry.uri_of, entry.directories), *parents(entry.root)]
        for uri in (*folders, *(entry.uri_of(file.path) for file in entry.files)):
            if (parent := parent_uri(uri)) is not None:
                children[parent].add(uri)
        for uri in folders:
            children[uri] |= set()
    return {uri: tuple(sorted(inside)) for uri, inside in children.items()}


@given(st.randoms(use_true_random=False))
def test_files_and_folders_are_those_that_the_skills_list(random: Random) -> None:
    catalog = _catalog(_nested(random))
    entries = list(catalog.entries.values())
    assert {uri: served.entry for uri, served in catalog.files.items()} == _owners(entries)
    assert dict(catalog.children_by_folder) == _children(entries)
    for uri, served in catalog.files.items():
        assert served.entry.uri_of(served.file.path) == uri
        assert uri not in catalog.children_by_folder
    for uri in catalog.children_by_folder:
        assert uri not in catalog.files


@pytest.mark.parametrize(
    "uri",
    [
        "skill://one",
        "skill://one/",
        "skill://one/skill.md",
        "skill://one/a%20b.md/",
        "skill://one/a b.md",
        "skill://one/%61%20b.md",
        "skill://one/./a%20b.md",
        "skill://one/more/../a%20b.md",
        "skill://one//a%20b.md",
        "skill://two/a%20b.md",
        "file:///one/a%20b.md",
        "one/a%20b.md",
        "",
    ],
)
def test_a_file_has_one_spelling(uri: str) -> None:
    files = {"SKILL.md": skill_md("one"), "a b.md": b"", "more/notes.md": b""}
    catalog = _catalog([MemorySkill("one", files)])
    assert "skill://one/a%20b.md" in catalog.files
    assert uri not in catalog.files


@pytest.mark.parametrize(
    "uri", ["skill://one/", "skill://one/more/", "skill://one//", "skill://", "skill:///"]
)
def test_a_folder_has_one_spelling(uri: str) -> None:
    catalog = _catalog([MemorySkill("one", {"SKILL.md": skill_md("one"), "more/notes.md": b""})])
    assert {"skill://one", "skill://one/more"} == set(catalog.children_by_folder)
    assert uri not in catalog.children_by_folder


def test_long_unknown_uri_is_refused_quickly() -> None:
    catalog = _catalog([MemorySkill("one", {"SKILL.md": skill_md("one"), "more/notes.md": b""})])
    slashes = "/x" * 2_000_000  # to go up from here would take hours
    for start in ("skill://one", "skill://two", "skill://one/more"):
        for long in (slashes, "/" + "%" * 4_000_000, "/" + "%41" * 1_300_000, "/" + "é" * 2_000_000):
            assert not catalog.serves(start + long)


@pytest.mark.parametrize("uri", ["skill://one/\ud800", "skill://one/\udcff.md", "skill://\ud800/SKILL.md"])
def test_uri_that_is_not_text_is_not_found(uri: str) -> None:
    catalog = _catalog([MemorySkill("one", {"SKILL.md": skill_md("one")})])
    assert not catalog.serves(uri)
    with pytest.raises(NotServedError):
        catalog.file(uri)
    with pytest.raises(NotServedError):
        catalog.children(uri)


def test_outer_skill_conflicts_with_inner_skills_at_any_depth() -> None:
    inner = MemorySkill("a/b/c/d", {"SKILL.md": skill_md("d")})
    source = MemorySource([inner], label="inner")
    outer = MemorySource([MemorySkill("a", {"SKILL.md": skill_md("a")})], label="outer")
    scans = [LabelledScan(each.label, anyio.run(each.scan)) for each in (source, outer)]
    catalog = compose(scans)
    assert list(catalog.entries) == ["skill://a/b/c/d/SKILL.md", "skill://outer/a/SKILL.md"]
