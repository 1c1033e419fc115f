"""A rescan of the changed locations finds the same as a full scan."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import FolderSource, Source
from skillwire.errors import SourceBusyError
from skillwire.sources import Limits, PrefixedSource, Rule, Scan
from tests.support.skills import skill_md, write, write_skill


def scan_of(root: Path) -> Scan:
    return anyio.run(FolderSource(root).scan)


def rescanned(source: FolderSource, *where: Path) -> Scan:
    return anyio.run(source.rescan, frozenset(map(str, where)))


class Gardener:
    """Changes a tree of skills at random, and reports where, as a watcher would."""

    def __init__(self, root: Path, random: Random) -> None:
        self.root, self.random, self.moved = root, random, 0
        self.operations: list[Callable[[], Path | tuple[Path, ...] | None]] = [
            self.add_skill,
            self.edit_file,
            self.remove,
            self.move,
            self.break_skill,
            self.turn_into_skill,
            self.link,
            self.add_to_container,
            self.ignore,
        ]

    def step(self) -> Iterator[Path]:
        """Do one thing; yield the places where it shows."""
        place = self.random.choice(self.operations)()
        if isinstance(place, Path):
            yield place
        yield from place if isinstance(place, tuple) else ()

    def folders(self) -> list[Path]:
        return [self.root, *sorted(p for p in self.root.rglob("*") if p.is_dir() and not p.is_symlink())]

    def add_skill(self) -> Path:
        above = self.random.choice(self.folders())
        name = self.random.choice(["one", "two", "three", "skills", ".claude", "node_modules"])
        existed = (above / name).exists()
        write(above / name, {"SKILL.md": skill_md(name.strip(".")), "refs/a.md": "a"})
        return above / name / "SKILL.md" if existed else above / name

    def add_to_container(self) -> tuple[Path, ...]:
        """Add a skill whose usual path may be taken."""
        above = self.random.choice(self.folders()) / self.random.choice(["skills", ".claude/skills"])
        name = self.random.choice(["one", "two", "first"])
        above.mkdir(parents=True, exist_ok=True)
        write(above / name, {"SKILL.md": skill_md(name)})
        return above.parent, above, above / name, above / name / "SKILL.md"

    def ignore(self) -> Path:
        """Change which files are ignored, which decides whether there are plain skills at all."""
        file = self.root / ".skillwireignore"
        if file.exists() and self.random.random() < 0.7:
            file.unlink()
        else:
            file.write_text(self.random.choice(["note.md\n", "two\n", "# nothing\n"]))
        return file

    def edit_file(self) -> Path:
        above = self.random.choice(self.folders())
        write(above, {"note.md": str(self.random.random())})
        return above / "note.md"

    def remove(self) -> Path | None:
        found = sorted(p for p in self.root.rglob("*") if not p.is_symlink())
        if not found:
            return None
        path = self.random.choice(found)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        return path

    def move(self) -> tuple[Path, ...]:
        inner = self.folders()[1:]
        if not inner:
            return ()
        path = self.random.choice(inner)
        self.moved += 1
        return path, path.rename(path.with_name(f"moved{self.moved}"))

    def break_skill(self) -> Path | None:
        markers = sorted(self.root.rglob("SKILL.md"))
        if not markers:
            return None
        marker = self.random.choice(markers)
        marker.write_text(self.random.choice(["broken", skill_md("renamed").decode()]))
        return marker

    def turn_into_skill(self) -> Path:
        above = self.random.choice(self.folders())
        name = self.random.choice(["SKILL.md", "skill.md"])
        write(above, {name: skill_md("turned")})
        return above / name

    def link(self) -> Path | None:
        target, above = self.random.choice(self.folders()), self.random.choice(self.folders())
        link = above / f"link{self.random.randint(0, 3)}"
        if link.is_symlink() or link.exists():
            return None
        link.symlink_to(target)
        return link


def plant(root: Path) -> None:
    write_skill(root, "first", {"refs/a.md": "a"})
    write_skill(root, "skills/second")
    write_skill(root, "team/first")


def check_delta(before: Scan, after: Scan) -> None:
    """Check that the delta names exactly the records that are not the same objects."""
    delta = after.delta_since(before)
    known, found = ({id(each) for each in scan.entries} for scan in (before, after))
    assert [id(each) for each in delta.gone] == [id(e) for e in before.entries if id(e) not in found]
    assert [id(each) for each in delta.new] == [id(e) for e in after.entries if id(e) not in known]
    assert [each.uri for each in after.entries] == sorted({each.uri for each in after.entries}, key=root_of)


def root_of(uri: str) -> str:
    return uri.removesuffix("/SKILL.md")


def check_readable(source: Source, scan: Scan) -> None:
    """Check that every listed file can be read, with its digest."""
    for entry in scan.entries:
        for file in entry.files:
            file.verify(anyio.run(source.read, entry, file), entry.uri_of(file.path))


@settings(max_examples=80, deadline=None)
@given(st.randoms(use_true_random=False))
def test_rescan_of_changed_locations_equals_full_scan(random: Random) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve() / "root"
        plant(root)
        gardener = Gardener(root, random)
        source = FolderSource(root)
        before = anyio.run(source.scan)
        for _ in range(6):
            where = [place for _ in range(random.randint(1, 3)) for place in gardener.step()]
            if where:
                after = rescanned(source, *where)
                assert after == scan_of(root)
                check_delta(before, after)
                check_readable(source, after)
                before = after


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False))
def test_rescan_below_prefix_equals_full_scan(random: Random) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve() / "root"
        plant(root)
        gardener = Gardener(root, random)
        source = PrefixedSource(FolderSource(root), "acme/team")
        before = anyio.run(source.scan)
        assert all(each.path.startswith("acme/team/") for each in before.entries)
        for _ in range(6):
            if where := frozenset(map(str, gardener.step())):
                after = anyio.run(source.rescan, where)
                assert after == anyio.run(PrefixedSource(FolderSource(root), "acme/team").scan)
                check_delta(before, after)
                check_readable(source, after)
                before = after


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_rescan_keeps_the_same_good_versions_as_full_scan(random: Random) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary).resolve() / "root"
        plant(root)
        gardener = Gardener(root, random)
        sources = FolderSource(root, keep_good=True), FolderSource(root, keep_good=True)
        before, _ = (anyio.run(source.scan) for source in sources)
        for _ in range(6):
            place = next(gardener.step(), None)
            if place is None:
                continue
            step = random.choice([[place], [place, place.parent]])
            after, full = rescanned(sources[0], *step), anyio.run(sources[1].scan)
            assert after.problems == full.problems
            assert after.entries == full.entries
            check_delta(before, after)
            check_readable(sources[0], after)
            before = after


def test_unchanged_record_is_the_same_object(tmp_path: Path) -> None:
    write_skill(tmp_path, "one", {"a.md": "a"})
    write_skill(tmp_path, "two")
    source = FolderSource(tmp_path)
    before = {entry.name: entry for entry in anyio.run(source.scan).entries}
    write(tmp_path, {"one/a.md": "changed"})
    after = {entry.name: entry for entry in rescanned(source, tmp_path / "one/a.md").entries}
    assert after["one"] != before["one"]
    assert after["two"] is before["two"]
    again = {entry.name: entry for entry in anyio.run(source.scan).entries}
    assert again["one"] is after["one"]
    assert again["two"] is before["two"]


def test_new_skill_does_not_affect_others(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    source = FolderSource(tmp_path)
    (one,) = anyio.run(source.scan).entries
    write_skill(tmp_path, "two")
    after = rescanned(source, tmp_path / "two").entries
    assert [entry.name for entry in after] == ["one", "two"]
    assert after[0] is one


def test_entry_limit_counts_all_rescans_together(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    source = FolderSource(tmp_path, limits=Limits(entries=10))
    anyio.run(source.scan)
    for _ in range(20):  # looking again and again uses nothing up
        assert rescanned(source, tmp_path / "one/SKILL.md").problems == ()
    write_skill(tmp_path, "two", {f"{number}.md": "x" for number in range(20)})
    scan = rescanned(source, tmp_path / "two")
    assert [entry.name for entry in scan.entries] == ["one"]
    assert {problem.rule for problem in scan.problems} == {"folder-entries"}


def test_changed_ignore_file_rescans_everything(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    write_skill(tmp_path, "two")
    source = FolderSource(tmp_path)
    anyio.run(source.scan)
    write(tmp_path, {".skillwireignore": "two\n"})
    assert [entry.name for entry in rescanned(source, tmp_path / ".skillwireignore").entries] == ["one"]


@pytest.mark.parametrize("broken", ["", "---\nname: [\n---\n", "---\nname: one\n---\n", "\0"])
def test_broken_edit_serves_last_good_version(tmp_path: Path, broken: str) -> None:
    write_skill(tmp_path, "one", {"a.md": "a"})
    source = FolderSource(tmp_path, keep_good=True)
    (good,) = anyio.run(source.scan).entries
    write(tmp_path, {"one/SKILL.md": broken, "one/a.md": "other files follow the disk"})
    scan = rescanned(source, tmp_path / "one/SKILL.md", tmp_path / "one/a.md")
    (held,) = scan.entries
    assert held.frontmatter == good.frontmatter
    assert held.files[0] == good.files[0]
    assert held.files[1] != good.files[1]
    assert anyio.run(source.read, held, held.files[0]) == skill_md("one")
    assert all("the last good version is served" in problem.message for problem in held.problems)
    assert held.problems
    assert rescanned(source).entries == scan.entries  # also after a look at everything
    write(tmp_path, {"one/SKILL.md": skill_md("one", "Mended.")})
    (mended,) = rescanned(source, tmp_path / "one/SKILL.md").entries
    assert (mended.description, mended.problems) == ("Mended.", ())


def test_broken_nested_skill_keeps_last_good_version_in_outer_skill(tmp_path: Path) -> None:
    write_skill(tmp_path, "outer")
    write_skill(tmp_path, "outer/inner")
    source = FolderSource(tmp_path, keep_good=True)
    before = anyio.run(source.scan).entries
    write(tmp_path, {"outer/inner/SKILL.md": "broken"})
    after = rescanned(source, tmp_path / "outer/inner/SKILL.md").entries
    assert [entry.files for entry in after] == [entry.files for entry in before]
    outer = after[0]
    inside = next(file for file in outer.files if file.path == "inner/SKILL.md")
    assert anyio.run(source.read, outer, inside) == skill_md("inner")


def test_removed_skill_is_not_served(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one")
    source = FolderSource(tmp_path, keep_good=True)
    anyio.run(source.scan)
    (folder / "SKILL.md").unlink()
    assert rescanned(source, folder / "SKILL.md").entries == ()


def test_last_good_version_does_not_survive_restart(tmp_path: Path) -> None:
    write(tmp_path, {"one/SKILL.md": "broken"})
    scan = anyio.run(FolderSource(tmp_path, keep_good=True).scan)
    assert scan.entries == ()
    assert [problem.severity for problem in scan.problems] == ["error"]


def test_root_link_pointed_elsewhere_is_rescanned(tmp_path: Path) -> None:
    write_skill(tmp_path / "release-1", "one")
    write_skill(tmp_path / "release-2", "two")
    current = tmp_path / "current"
    current.symlink_to(tmp_path / "release-1")
    source = FolderSource(current)
    assert [entry.name for entry in anyio.run(source.scan).entries] == ["one"]
    current.unlink()
    current.symlink_to(tmp_path / "release-2")
    assert [entry.name for entry in rescanned(source, current).entries] == ["two"]


def test_removed_skills_free_the_entry_limit(tmp_path: Path) -> None:
    for number in range(4):
        write_skill(tmp_path / "team", f"s{number}")
    source = FolderSource(tmp_path, limits=Limits(entries=12))
    assert len(anyio.run(source.scan).entries) == 4
    (tmp_path / "team").rename(tmp_path / "crew")
    scan = rescanned(source, tmp_path / "team", tmp_path / "crew")
    assert scan == anyio.run(FolderSource(tmp_path, limits=Limits(entries=12)).scan)
    assert len(scan.entries) == 4


def test_entry_limit_is_the_same_for_gradual_growth(tmp_path: Path) -> None:
    write_skill(tmp_path, "s00")
    source = FolderSource(tmp_path, limits=Limits(entries=20))
    found = anyio.run(source.scan)
    for number in range(1, 20):
        write_skill(tmp_path, f"s{number:02}")
        found = rescanned(source, tmp_path / f"s{number:02}")
    fresh = anyio.run(FolderSource(tmp_path, limits=Limits(entries=20)).scan)
    assert len(found.entries) == len(fresh.entries)


def test_rescan_of_skill_notices_replaced_parent_folder(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write_skill(root / "group", "one")
    write_skill(tmp_path / "next", "one", {"new.md": "new"})
    source = FolderSource(root)
    anyio.run(source.scan)
    (root / "group").rename(tmp_path / "old")
    (tmp_path / "next").rename(root / "group")
    (entry,) = rescanned(source, root / "group/one").entries
    assert [file.path for file in entry.files] == ["SKILL.md", "new.md"]


def test_rescan_that_failed_halfway_is_repeated_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        write_skill(tmp_path, name, {"a.md": "a"})
    source = FolderSource(tmp_path)
    anyio.run(source.scan)
    files = [tmp_path / "one/a.md", tmp_path / "two/a.md"]
    for file in files:
        file.write_text("changed")
    opened = os.open

    def exhausted(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path.endswith("/two"):
            raise OSError(errno.EMFILE, "Too many open files")
        return opened(path, flags, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", exhausted)
        with pytest.raises(SourceBusyError):
            rescanned(source, *files)
    assert rescanned(source, files[1]) == scan_of(tmp_path)


def test_removed_skill_frees_only_its_own_entries(tmp_path: Path) -> None:
    limits = Limits(entries=16)
    for path in ("skills/one", "skills/two", "other/three"):
        write_skill(tmp_path, path, {"a.md": "a"})
    source = FolderSource(tmp_path, limits=limits)
    assert anyio.run(source.scan).problems == ()
    shutil.rmtree(tmp_path / "skills/two")
    assert rescanned(source, tmp_path / "skills/two").problems == ()
    write(tmp_path / "other/three", {f"{number}.md": "x" for number in range(9)})
    found = rescanned(source, tmp_path / "other/three")
    assert [problem.rule for problem in found.problems] == [Rule.FOLDER_ENTRIES] * 2
