"""Malicious folders: each trap is reported as a problem, and the good skill is served."""

import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest

from skillwire import FolderSource
from skillwire.errors import SourceError
from skillwire.sources import Limits, Rule, Severity
from skillwire.sources.folder.facts import FileFactsCache
from skillwire.sources.folder.ignore import IgnoreRules
from skillwire.sources.folder.walk import FolderWalk
from tests.support.peers import MODERN, StdioPeer, skillwire
from tests.support.scans import catalog, faults, scan, uris
from tests.support.scans import problems as problems_of
from tests.support.skills import make_fifo, skill_md, write, write_skill

GOOD = "skill://good/SKILL.md"
NOBODY = 65534


def frontmatter(text: str) -> Callable[[Path], object]:
    return lambda root: write(root, {"bad/SKILL.md": f"---\nname: bad\ndescription: x\n{text}\n---\n"})


def _link_out(root: Path) -> None:
    write(root, {"bad/a.md": "x"})
    (root / "bad/SKILL.md").symlink_to("/etc/passwd")


def _link_loop(root: Path) -> None:
    write(root, {"bad/a.md": "x"})
    (root / "bad/SKILL.md").symlink_to("SKILL.md")


def _deep_folders(root: Path) -> None:
    write_skill(root, "bad", {"/".join("d" for _ in range(100)) + "/x.md": "x"})


def _sparse(root: Path) -> None:
    write_skill(root, "bad")
    with (root / "bad/huge.bin").open("wb") as file:
        file.truncate(1 << 40)


TRAPS: dict[str, Callable[[Path], object]] = {
    "pipe instead of a document": lambda root: make_fifo(root / "bad/SKILL.md"),
    "link out of the folder": _link_out,
    "link to itself": _link_loop,
    "yaml of ten thousand levels": frontmatter("deep: " + "[" * 10_000),
    "yaml of ten thousand block levels": frontmatter("".join(" " * n + "a:\n" for n in range(300))),
    "alias bomb": frontmatter(
        "a0: &a0 x\n" + "\n".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]" for n in range(64))
    ),
    "a million keys": frontmatter("\n".join(f"k{n}: v" for n in range(1_000_000))),
    "no end": lambda root: write(root, {"bad/SKILL.md": b"---\n" + b"a: b\n" * 100_000}),
    "nul": lambda root: write(root, {"bad/SKILL.md": b"---\nname: bad\0\ndescription: x\n---\n"}),
    "utf-16": lambda root: write(root, {"bad/SKILL.md": skill_md("bad").decode().encode("utf-16")}),
    "a terabyte of nothing": _sparse,
    "a hundred folders deep": _deep_folders,
    "name with a path": lambda root: write(root, {"bad/SKILL.md": skill_md("../../etc")}),
    "name with an escape": lambda root: write(root, {"bad/SKILL.md": skill_md('"a\\e[31m"')}),
}


@pytest.fixture(scope="module")
def hostile_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All traps, each in a separate folder, beside one good skill."""
    root = tmp_path_factory.mktemp("hostile")
    write_skill(root, "good")
    for name, spring in TRAPS.items():
        spring(root / name.replace(" ", "-"))
    return root


@pytest.mark.parametrize("trap", TRAPS)
def test_each_trap_is_reported_as_error_with_its_path(trap: str, problems: list[dict[str, str]]) -> None:
    place = f"{trap.replace(' ', '-')}/bad/SKILL.md"
    assert [problem["severity"] for problem in problems if problem["path"] == place][:1] == ["error"]


@pytest.fixture(scope="module")
def problems(hostile_tree: Path) -> list[dict[str, str]]:
    with StdioPeer(MODERN, skillwire("serve", hostile_tree)) as peer:
        listed = peer.result("skills/list")["skills"]
        assert [entry["uri"] for entry in listed] == [GOOD]
        (content,) = peer.result("resources/read", {"uri": GOOD})["contents"]
        assert content["text"].encode() == skill_md("good")
        (content,) = peer.result("resources/read", {"uri": "skillwire://problems"})["contents"]
    return json.loads(content["text"])["problems"]


def test_problem_messages_have_no_control_characters(problems: list[dict[str, str]]) -> None:
    for problem in problems:
        assert all(str(value).isprintable() for value in problem.values())


@contextmanager
def as_unprivileged_user() -> Generator[Path]:
    """Yield a folder in which permissions apply: root gives up its rights inside, and regains them after."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        was_root = os.geteuid() == 0
        try:
            yield Path(folder)
        finally:
            if was_root:
                os.seteuid(0)


def test_files_without_permission_do_not_hide_the_rest() -> None:
    with as_unprivileged_user() as root:
        write_skill(root, "good")
        write_skill(root, "closed-file", {"secret.md": "x"})
        write_skill(root, "closed-folder", {"inner/x.md": "x"})
        write_skill(root, "closed-main")
        write_skill(root, "closed-place/skill")
        for closed in (
            "closed-file/secret.md",
            "closed-folder/inner",
            "closed-main/SKILL.md",
            "closed-place",
        ):
            (root / closed).chmod(0)
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
        found = scan(root)
    assert uris(found) == ["closed-file", "closed-folder", "good"]
    assert faults(found) == {
        ("closed-file/secret.md", Rule.FILE_UNREADABLE, Severity.WARNING),
        ("closed-folder/inner", Rule.FOLDER_UNREADABLE, Severity.WARNING),
        ("closed-main/SKILL.md", Rule.SKILL_UNREADABLE, Severity.ERROR),
        ("closed-place", Rule.FOLDER_UNREADABLE, Severity.WARNING),
    }
    assert all(problem.hint for problem in problems_of(found))


def test_unreadable_root_does_not_affect_other_sources() -> None:
    with as_unprivileged_user() as root:
        write_skill(root, "open/good")
        write_skill(root, "closed/bad")
        (root / "closed").chmod(0)
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
        found = catalog(root / "closed", root / "open")
    assert uris(found) == ["good"]
    (problem,) = found.problems
    assert (problem.rule, problem.severity) == (Rule.SOURCE_FAILED, Severity.ERROR)
    assert "permission denied" in problem.message


def test_folder_replaced_by_link_after_check_is_not_listed(tmp_path: Path) -> None:
    secret = write(tmp_path / "outside", {"secret.md": "SECRET"})
    root = tmp_path / "root"
    write_skill(root, "one", {"inner/a.md": "x"})
    folder_walk = FolderWalk(str(root), limits=Limits(), ignored=IgnoreRules(), follow_links=False)
    (one,) = folder_walk.list_folder(folder_walk.start()).folders
    (inner,) = folder_walk.list_folder(one).folders
    (root / "one/inner/a.md").unlink()
    (root / "one/inner").rmdir()
    (root / "one/inner").symlink_to(secret)
    assert folder_walk.list_folder(inner, inside_skill=True).files == []


def test_file_replaced_after_check_is_not_read(tmp_path: Path) -> None:
    secret = write(tmp_path / "outside", {"secret.md": "SECRET"})
    root = tmp_path / "root"
    write_skill(root, "one", {"a.md": "x"})
    folder_walk = FolderWalk(str(root), limits=Limits(), ignored=IgnoreRules(), follow_links=False)
    (one,) = folder_walk.list_folder(folder_walk.start()).folders
    file = next(file for file in folder_walk.list_folder(one).files if file.name == "a.md")
    (root / "one/a.md").unlink()
    (root / "one/a.md").symlink_to(secret / "secret.md")
    with pytest.raises(SourceError, match="replaced"):
        FileFactsCache().of(file, limit=100)


@pytest.mark.parametrize("target", [".loop", "SKILL.md/x", "/nowhere/at/all"])
def test_broken_hidden_link_has_no_effect(tmp_path: Path, target: str) -> None:
    folder = write_skill(tmp_path, "one")
    for place in (tmp_path, folder):
        (place / ".loop").symlink_to(target)
    assert uris(scan(tmp_path)) == ["one"]
    assert problems_of(scan(tmp_path)) == []


def test_too_many_files_are_counted_without_keeping_them(tmp_path: Path) -> None:
    folders = ("", "refs/", "refs/deep/")
    many: dict[str, bytes | str] = {f"{folder}{name}.md": "" for folder in folders for name in range(4)}
    write_skill(tmp_path, "one", many)
    write_skill(tmp_path, "one/nested", {"a.md": "a"})
    scan = anyio.run(FolderSource(tmp_path, limits=Limits(files=3)).scan)
    assert [entry.path for entry in scan.entries] == ["one/nested"]
    assert [problem.message for problem in scan.problems] == [
        "the skill has 15 files; the limit is 3 files per skill"
    ]
