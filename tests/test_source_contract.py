"""What every source promises, tested on each of them with the same skills."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skillwire.model.entry import SkillFile
from skillwire.model.errors import SourceError
from skillwire.model.problem import Severity
from skillwire.sources.base import Source
from skillwire.sources.directory import DirectorySource
from skillwire.sources.memory import MemorySkill, MemorySource
from tests.support.skills import skill_md, write

pytestmark = pytest.mark.anyio

SKILLS: dict[str, dict[str, bytes]] = {
    "acme/refunds": {
        "SKILL.md": skill_md("refunds"),
        "references/policy.md": b"# Policy\r\n",
        "assets/logo.png": b"\x89PNG\r\n\x1a\n\0",
        "empty.txt": b"",
    },
    "hello": {"SKILL.md": b"\xef\xbb\xbf" + skill_md("hello")},
    "no-name": {"SKILL.md": b"---\ndescription: x\n---\n"},
    "Bad Name": {"SKILL.md": b"---\nname: Bad Name\ndescription: x\n---\n"},
    "other-folder": {"SKILL.md": skill_md("other-name")},
}


def directory(tmp_path: Path) -> Source:
    for path, files in SKILLS.items():
        write(tmp_path / path, dict(files))
    return DirectorySource(tmp_path)


def memory(_tmp_path: Path) -> Source:
    return MemorySource(MemorySkill(path, files) for path, files in SKILLS.items())


MAKERS: dict[str, Callable[[Path], Source]] = {"directory": directory, "memory": memory}


@pytest.fixture(params=MAKERS)
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    return MAKERS[request.param](tmp_path)


async def test_the_good_skills_are_there_under_their_paths(source: Source) -> None:
    scan = await source.scan()
    assert sorted(entry.path for entry in scan.entries) == [
        "acme/refunds",
        "hello",
        "other-folder/other-name",
    ]


async def test_each_bad_skill_is_a_problem_with_a_path_and_a_hint(source: Source) -> None:
    scan = await source.scan()
    errors = [problem for problem in scan.problems if problem.severity is Severity.ERROR]
    assert {problem.path for problem in errors} == {"no-name/SKILL.md", "Bad Name/SKILL.md"}
    assert all(problem.hint for problem in errors)


async def test_warnings_stay_with_the_skill_that_is_served(source: Source) -> None:
    scan = await source.scan()
    (entry,) = (entry for entry in scan.entries if entry.name == "other-name")
    assert [problem.severity for problem in entry.problems] == [Severity.WARNING]


async def test_every_file_reads_as_it_was_listed(source: Source) -> None:
    scan = await source.scan()
    for entry in scan.entries:
        written = SKILLS[entry.path.removesuffix("/other-name")]
        assert {file.path for file in entry.files} == set(written)
        assert entry.files[0].path == "SKILL.md"
        for file in entry.files:
            content = await source.read(entry, file)
            assert content == written[file.path]
            assert isinstance(file, SkillFile)
            assert file.size == len(content)
            assert file.digest.text == "sha256:" + hashlib.sha256(content).hexdigest()


async def test_directories_are_listed_at_every_level(source: Source) -> None:
    scan = await source.scan()
    (refunds,) = (entry for entry in scan.entries if entry.name == "refunds")
    assert refunds.directories == ("assets", "references")


async def test_two_scans_of_the_same_skills_are_equal(source: Source) -> None:
    assert await source.scan() == await source.scan()


async def test_looking_again_at_one_skill_keeps_the_others(source: Source) -> None:
    scan = await source.scan()
    assert await source.rescan(frozenset({scan.entries[0].origin.location})) == scan


async def test_a_file_that_is_gone_is_an_error_of_the_source(source: Source) -> None:
    scan = await source.scan()
    file = scan.entries[0].files[0]
    with pytest.raises(SourceError):
        await source.read(scan.entries[0], replace(file, path="gone.md"))


async def test_origins_name_the_source_and_problems_no_absolute_path(source: Source, tmp_path: Path) -> None:
    scan = await source.scan()
    assert {entry.origin.source for entry in scan.entries} == {source.label}
    assert not any(str(tmp_path) in str(problem.to_json()) for problem in scan.problems)
