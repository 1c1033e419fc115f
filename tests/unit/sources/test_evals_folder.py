"""The eval cases of a skill are not served, so that models cannot read the expected answers."""

from contextlib import aclosing
from pathlib import Path

import anyio
import pytest

from skillwire import FolderSource, Library
from skillwire.errors import NotServedError
from skillwire.sources import Rule, Scan
from skillwire.sources.folder.reader import read_skill_contents
from tests.support.scans import problems, scan, uris
from tests.support.skills import write, write_skill

CASES = {"evals/evals.json": "[]", "evals/files/in.csv": "a,b\n", "a.md": "x"}


def paths(found: Scan, at: int = 0) -> list[str]:
    return [file.path for file in found.entries[at].files]


def test_evals_of_a_skill_are_neither_listed_nor_readable(tmp_path: Path) -> None:
    write_skill(tmp_path, "one", {**CASES})
    found = scan(tmp_path)
    assert (paths(found), problems(found)) == (["SKILL.md", "a.md"], [])

    async def read() -> None:
        library = Library([FolderSource(tmp_path)])
        await library.load()
        await library.read("skill://one/evals/evals.json")

    with pytest.raises(NotServedError):
        anyio.run(read)


def test_evals_of_a_skill_added_by_path_are_left_out(tmp_path: Path) -> None:
    assert sorted(read_skill_contents(write_skill(tmp_path, "one", {**CASES})).files) == ["SKILL.md", "a.md"]


def test_evals_are_served_if_the_operator_includes_them(tmp_path: Path) -> None:
    write_skill(tmp_path, "one", {**CASES})
    found = scan(tmp_path, include_evals=True)
    assert paths(found) == ["SKILL.md", "a.md", "evals/evals.json", "evals/files/in.csv"]


def test_a_scan_cache_with_evals_does_not_serve_them_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillwire.sources.folder.files._SETTLED_AFTER_NS", -1_000_000_000)
    write_skill(tmp_path / "skills", "one", {**CASES})

    async def found(*, include_evals: bool) -> Scan:
        source = FolderSource(tmp_path / "skills", include_evals=include_evals, digests=tmp_path / "cache")
        scanned = await source.scan()
        async with aclosing(source.changes()) as changes:  # the first event comes after the cache is written
            with anyio.fail_after(30):
                await anext(changes)
        return scanned

    assert len(paths(anyio.run(lambda: found(include_evals=True)))) == 4
    assert paths(anyio.run(lambda: found(include_evals=False))) == ["SKILL.md", "a.md"]


def test_only_the_folder_directly_in_a_skill_is_left_out(tmp_path: Path) -> None:
    write_skill(tmp_path, "one", {"references/evals/a.md": "x", "scripts/evals": "x"})
    write_skill(tmp_path, "evals/two")
    write_skill(tmp_path, "group/evals")
    found = scan(tmp_path)
    assert uris(found) == ["evals/two", "group/evals", "one"]
    assert paths(found, 2) == ["SKILL.md", "references/evals/a.md", "scripts/evals"]


def test_a_file_named_evals_is_served(tmp_path: Path) -> None:
    write_skill(tmp_path, "one", {"evals": "x"})
    assert paths(scan(tmp_path)) == ["SKILL.md", "evals"]


def test_skills_inside_evals_are_not_skills(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    write_skill(tmp_path, "one/evals/files/fixture")
    write_skill(tmp_path, "one/nested", {"evals/x.json": "[]"})
    found = scan(tmp_path)
    assert uris(found) == ["one", "one/nested"]
    assert [paths(found, at) for at in (0, 1)] == [["SKILL.md", "nested/SKILL.md"], ["SKILL.md"]]


@pytest.mark.parametrize("target", ["../one/evals/evals.json", "../one/evals", "../one/evals/files"])
def test_links_do_not_lead_into_evals(tmp_path: Path, target: str) -> None:
    write_skill(tmp_path, "one", {**CASES})
    two = write_skill(tmp_path, "two")
    (two / "link").symlink_to(target)
    found = scan(tmp_path)
    assert paths(found, 1) == ["SKILL.md"]
    assert [each.rule for each in problems(found)] == [Rule.LINK_OUTSIDE]


def test_evals_that_are_a_link_are_left_out(tmp_path: Path) -> None:
    one = write_skill(tmp_path, "one")
    write(tmp_path, {"cases/evals.json": "[]"})
    (one / "evals").symlink_to("../cases")
    found = scan(tmp_path)
    assert (paths(found), problems(found)) == (["SKILL.md"], [])
