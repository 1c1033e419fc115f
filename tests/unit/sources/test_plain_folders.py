"""The fast reader finds the same as the careful reader, and leaves unusual folders to it."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from struct import pack
from unittest.mock import Mock

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import FolderSource
from skillwire.sources import Limits, Rule, Scan
from skillwire.sources.folder.facts import FileFactsCache
from skillwire.sources.folder.ignore import IgnoreRules
from skillwire.sources.folder.tree import Tree
from skillwire.sources.folder.walk import FolderWalk
from skillwire.sources.folder.watch_plan import WatchPlan
from tests.support.skills import make_fifo, skill_md, write, write_skill

NAMES = (
    *("a.md", "b.txt", "A.md", "data", "x.bin", "SKILL.md", "skill.md", "Skill.md", "README", "v1.2-x_y.md"),
    *(".hidden", "with space.md", "é.md", "node_modules", "evals", "-dash", "_under", "back\\slash"),
)
CONTENTS = (b"", b"text\n", b"\xff\x00", b"x" * 300, skill_md("one"), skill_md("two"), b"---\nname: [\n---\n")


def scan_of(root: Path, limits: Limits) -> Scan:
    return anyio.run(FolderSource(root, limits=limits, label="x").scan)


def tree_of(root: Path, limits: Limits) -> Tree:
    folder_walk = FolderWalk(str(root), limits=limits, ignored=IgnoreRules(), follow_links=False)
    tree = Tree(FileFactsCache())
    tree.walk(folder_walk, folder_walk.start())
    return tree


def careful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.sources.folder.tree.read_plain_skill", Mock(return_value=None))


def grow(folder: Path, random: Random, depth: int = 0) -> None:
    """Fill a folder with random entries, most of them plain."""
    for name in random.sample(NAMES[:10] if random.random() < 0.7 else NAMES, random.randint(0, 3)):
        place, kind = folder / name, random.random()
        if place.exists():
            continue
        if kind < 0.65 or (kind < 0.85 and depth == 3):
            place.write_bytes(random.choice(CONTENTS))
            place.chmod(random.choice([0o644, 0o644, 0o755, 0o744, 0o655]))
        elif kind < 0.85:
            place.mkdir()
            grow(place, random, depth + 1)
        elif kind < 0.88:
            make_fifo(place)
        elif kind < 0.92:
            place.symlink_to(random.choice(["..", "a.md", "nowhere", "/"]))


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_fast_and_careful_reader_find_the_same(random: Random) -> None:
    limits = Limits(
        files=random.choice([3, 512]),
        bytes=random.choice([700, 1 << 20]),
        depth=random.choice([2, 32]),
        entries=random.choice([6, 1000]),
    )
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve() / "root"
        for name in ("one", "two", "group/three"):
            folder = root / name
            folder.mkdir(parents=True)
            if random.random() < 0.8:
                write(folder, {"SKILL.md": skill_md(folder.name, "x" * random.choice([9, 2000]))})
            grow(folder, random)
        found, tree = scan_of(root, limits), tree_of(root, limits)
        with pytest.MonkeyPatch.context() as patch:
            careful(patch)
            expected, other = scan_of(root, limits), tree_of(root, limits)
        assert not other.plain
        assert found == expected
        assert (tree.entry_count, tree.cut) == (other.entry_count, other.cut)
        assert WatchPlan.of(root, tree) == WatchPlan.of(root, other)
        folders = {path: set(unit.folders) for path, unit in tree.skill_folders.items()}
        assert folders == {path: set(unit.folders) for path, unit in other.skill_folders.items()}


def test_both_readers_notice_changed_file_mode(tmp_path: Path) -> None:
    one = write_skill(tmp_path, "one", {"run": "x"})
    write_skill(tmp_path, "with-link", {"run": "x"})
    (tmp_path / "with-link/link.md").symlink_to("SKILL.md")
    for path in tmp_path.rglob("*"):
        if not path.is_symlink():
            os.utime(path, ns=(10**18, 10**18))
    source = FolderSource(tmp_path, label="x")

    def runnable() -> list[list[str]]:
        return [sorted(entry.executable) for entry in anyio.run(source.scan).entries]

    assert runnable() == [[], []]
    (one / "run").chmod(0o755)
    (tmp_path / "with-link/run").chmod(0o700)
    assert runnable() == [["run"], ["run"]]
    (one / "run").chmod(0o655)
    assert runnable() == [[], ["run"]]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_most_skills_are_plain(tmp_path: Path, depth: int) -> None:
    files: dict[str, bytes | str] = {"refs/" * depth + name: "x" for name in ("a.md", "b", ".hidden")}
    write_skill(tmp_path, "one", files)
    assert list(tree_of(tmp_path, Limits()).plain) == ["one"]


ODD: dict[str, Callable[[Path], object]] = {
    "a link": lambda one: (one / "link.md").symlink_to(one / "SKILL.md"),
    "a pipe": lambda one: make_fifo(one / "pipe"),
    "a nested skill": lambda one: write_skill(one, "inner"),
    "a nested skill in small letters": lambda one: write(one, {"inner/skill.md": skill_md("inner")}),
    "two spellings": lambda one: write(one, {"skill.md": skill_md("one")}),
    "names that differ in case alone": lambda one: write(one, {"a.md": "a", "A.md": "A"}),
    "a name in other letters": lambda one: write(one, {"é.md": ""}),
    "a folder that is called like a document": lambda one: write(one, {"refs/SKILL.md/": b""}),
    "evals": lambda one: write(one, {"evals/evals.json": b"[]"}),
    "a folder of a tool": lambda one: write(one, {"node_modules/": b""}),
    "a hidden folder": lambda one: write(one, {".cache/": b""}),
    "a hidden link": lambda one: (one / ".link").symlink_to(one),
    "a document that is broken": lambda one: write(one, {"SKILL.md": "broken"}),
}


@pytest.mark.parametrize("what", ODD)
def test_unusual_folders_are_left_to_careful_reader(tmp_path: Path, what: str) -> None:
    one = write_skill(tmp_path, "one", {"refs/a.md": "a"})
    ODD[what](one)
    assert not tree_of(tmp_path, Limits()).plain


def test_file_replaced_by_link_during_read_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"secret.md": "SECRET"})
    one = write_skill(tmp_path / "root", "one", {"refs/a.md": "a"})
    opened = os.open

    def swapping(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path == "a.md":
            (one / "refs/a.md").unlink()
            (one / "refs/a.md").symlink_to(tmp_path / "secret.md")
        return opened(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)
    scan = scan_of(tmp_path / "root", Limits())
    assert [file.path for entry in scan.entries for file in entry.files] == ["SKILL.md"]
    assert [problem.path for entry in scan.entries for problem in entry.problems] == ["one/refs/a.md"]


def test_folder_replaced_by_link_during_read_is_not_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"outside/secret.md": "SECRET"})
    one = write_skill(tmp_path / "root", "one", {"refs/a.md": "a"})
    opened = os.open

    def swapping(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path == "refs" and not (one / "refs").is_symlink():
            (one / "refs").rename(tmp_path / "away")
            (one / "refs").symlink_to(tmp_path / "outside")
        return opened(path, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)
    scan = scan_of(tmp_path / "root", Limits())
    assert [file.path for entry in scan.entries for file in entry.files] == ["SKILL.md"]


def test_times_too_large_for_stamp_are_handled(tmp_path: Path) -> None:
    one = write_skill(tmp_path, "one", {"a.md": "a"})
    late = 2**33  # seconds: the year 2242, more nanoseconds than 63 bits hold a little later
    os.utime(one / "a.md", (late + 10**9, late + 10**9))
    source = FolderSource(tmp_path)
    first = anyio.run(source.scan)
    assert [file.path for file in first.entries[0].files] == ["SKILL.md", "a.md"]
    assert anyio.run(source.scan) == first


def test_rescan_reads_only_the_changed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.sources.folder.files._SETTLED_AFTER_NS", -1_000_000_000)
    one = write_skill(tmp_path, "one", {"large.bin": bytes(1000), "refs/a.md": "a"})
    source = FolderSource(tmp_path)
    anyio.run(source.scan)
    lengths: list[int] = []
    read = os.read

    def noted(descriptor: int, length: int) -> bytes:
        lengths.append(length)
        return read(descriptor, length)

    write(one, {"refs/a.md": "other"})
    monkeypatch.setattr(os, "read", noted)
    changed = anyio.run(source.rescan, frozenset({str(one / "refs/a.md")}))
    assert lengths == [len("other") + 1]
    monkeypatch.undo()
    assert changed.entries == anyio.run(FolderSource(tmp_path).scan).entries


def test_renamed_folder_is_checked_by_its_new_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.sources.folder.files._SETTLED_AFTER_NS", -1_000_000_000)
    write_skill(tmp_path, "one")
    (tmp_path / "link").symlink_to("one")
    source = FolderSource(tmp_path / "link", label="x")
    assert anyio.run(source.scan).entries[0].problems == ()
    (tmp_path / "one").rename(tmp_path / "two")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("two")
    after = anyio.run(source.scan)
    assert [problem.rule for problem in after.entries[0].problems] == [Rule.NAME_FOLDER]
    assert after == scan_of(tmp_path / "link", Limits())


def test_change_with_same_stamp_is_found_by_targeted_rescan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillwire.sources.folder.files._SETTLED_AFTER_NS", -1_000_000_000)

    def same_stamp(_size: int, _modified: int, _changed: int, inode: int, device: int) -> bytes:
        return pack("=qqqQQ", 1, 1, 1, inode, device)

    monkeypatch.setattr("skillwire.sources.folder.files._pack", same_stamp)
    one = write_skill(tmp_path, "one", {"a.md": "a"})
    source = FolderSource(tmp_path)
    anyio.run(source.scan)
    for number, where in enumerate((one, one / "a.md")):
        (one / "a.md").write_text(str(number))
        (unseen,) = anyio.run(source.scan).entries
        (seen,) = anyio.run(source.rescan, frozenset({str(where)})).entries
        assert unseen.files[0] == seen.files[0]
        assert unseen.files[1] != seen.files[1]
