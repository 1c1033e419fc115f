"""Several sources in one catalog: every URI means one thing, and nothing is dropped silently."""

from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import FolderSource, Library, MemorySource
from skillwire.errors import ConflictError
from skillwire.sources import MemorySkill, Rule, Severity
from tests.support.scans import catalog, uris
from tests.support.skills import skill_md, write_skill


def source(label: str, *paths: str, body: str = "x\n", **extra: bytes) -> MemorySource:
    skills = [
        MemorySkill(path, {"SKILL.md": skill_md(path.split("/")[-1], body=body), **extra}) for path in paths
    ]
    return MemorySource(skills, label=label)


def test_a_later_source_gets_its_label_when_paths_clash() -> None:
    found = catalog(source("ours", "one", "two"), source("theirs", "two", "three", body="y\n"))
    assert uris(found) == ["one", "two", "theirs/two", "three"]


@pytest.mark.rule("S17")
def test_name_without_owner_is_a_warning_on_each_skill() -> None:
    found = catalog(source("ours", "a/one", "b/one"))
    assert [(p.rule, p.severity, p.path) for p in found.problems] == [
        (Rule.NAME_SHARED, Severity.WARNING, "a/one/SKILL.md"),
        (Rule.NAME_SHARED, Severity.WARNING, "b/one/SKILL.md"),
    ]
    assert {p.message for p in found.problems} == {
        "2 skills have the name `one`; they are called `a/one` and `b/one`"
    }
    for entry, problem in zip(found.entries.values(), found.problems, strict=True):
        assert found.problems_of(entry) == (problem,)


@pytest.mark.rule("S17")
def test_further_sources_add_one_warning_for_each_shared_name() -> None:
    found = catalog(
        source("ours", "one", "two"), source("theirs", "x/one", "x/two"), source("third", "y/one")
    )
    assert [(problem.path, problem.message) for problem in found.problems] == [
        (
            "theirs/x/one/SKILL.md",
            "`one` means `ours/one/SKILL.md`; 2 other skills with this name: `x/one` and `y/one`",
        ),
        ("theirs/x/two/SKILL.md", "`two` means `ours/two/SKILL.md`; another skill with this name: `x/two`"),
    ]
    owner, *others = (entry for entry in found.entries.values() if entry.name == "one")
    assert found.problems_of(owner) == ()
    assert [found.problems_of(entry) for entry in others] == [(found.problems[0],)] * 2


def test_a_skill_nested_with_an_earlier_one_gets_a_label() -> None:
    found = catalog(source("ours", "team"), source("theirs", "team/tool"))
    assert uris(found) == ["team", "theirs/team/tool"]
    found = catalog(source("ours", "team/tool"), source("theirs", "team"))
    assert uris(found) == ["team/tool", "theirs/team"]


def test_a_uri_taken_even_with_the_label_is_an_error() -> None:
    found = catalog(source("ours", "one", "theirs/one"), source("theirs", "one", body="y\n"))
    assert uris(found) == ["one", "theirs/one"]
    assert (Rule.URI_TAKEN, Severity.ERROR) in {(p.rule, p.severity) for p in found.problems}


def test_problems_name_their_source_when_there_are_several(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_skill(tmp_path / name, "wrong-folder", name="right-name")
    found = catalog(FolderSource(tmp_path / "a"), FolderSource(tmp_path / "b"))
    paths = {problem.path for problem in found.problems if problem.rule is Rule.NAME_FOLDER}
    assert paths == {"a/wrong-folder/SKILL.md", "b/wrong-folder/SKILL.md"}
    for entry in found.entries.values():
        assert set(found.problems_of(entry)) <= set(found.problems)


def test_two_sources_of_one_label_are_refused() -> None:
    with pytest.raises(ConflictError, match="same label"):
        Library([source("same", "one"), source("same", "two")])


segments = st.sampled_from(["a", "b", "c"])
paths = st.lists(segments, min_size=1, max_size=4).map("/".join)
trees = st.lists(paths, unique=True, max_size=8)


@given(st.lists(trees, min_size=1, max_size=3))
def test_every_uri_is_unique_and_no_skill_is_lost(listed: list[list[str]]) -> None:
    sources = [source(f"s{n}", *each, body=f"{n}\n", note=b"x") for n, each in enumerate(listed)]
    library = Library(sources)
    found = anyio.run(library.load)
    asked = sum(map(len, listed))
    refused = sum(problem.rule is Rule.URI_TAKEN for problem in found.problems)
    assert len(found.entries) + refused == asked
    assert [found.positions[uri] for uri in found.entries] == list(range(len(found.entries)))
    for entry in found.entries.values():
        for file in entry.files:
            assert entry.uri_of(file.path) in found.files
        inside = {uri for uri in found.files if uri.startswith(f"{entry.root}/")}
        assert inside == {entry.uri_of(file.path) for file in entry.files}
    reachable = {child for children in found.children_by_folder.values() for child in children}
    assert set(found.files) <= reachable
    assert reachable <= set(found.files) | set(found.children_by_folder)
