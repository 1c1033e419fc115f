"""A second scan reads only files that changed."""

import os
from pathlib import Path

import anyio
import pytest

from skillwire import FolderSource
from skillwire.sources.folder.files import Stamp
from tests.support.reading import record_reads
from tests.support.skills import skill_md, write, write_skill

SECOND = 1_000_000_000


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat files as settled at once, so that tests need not wait."""
    monkeypatch.setattr("skillwire.sources.folder.files._SETTLED_AFTER_NS", -SECOND)


@pytest.mark.usefixtures("settled")
def test_unchanged_folder_is_not_read_again(tmp_path: Path) -> None:
    write_skill(tmp_path, "one", {"a.md": "a"})
    source = FolderSource(tmp_path)
    with record_reads(tmp_path) as found:
        first = anyio.run(source.scan)
    assert found == {"one/SKILL.md", "one/a.md"}
    with record_reads(tmp_path) as found:
        assert anyio.run(source.scan) == first
    assert found == set()


@pytest.mark.usefixtures("settled")
def test_only_changed_files_are_read_again(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one", {"a.md": "a", "b.md": "b"})
    source = FolderSource(tmp_path)
    anyio.run(source.scan)
    (folder / "a.md").write_bytes(b"A")
    os.utime(folder / "a.md", ns=(0, 12345))
    with record_reads(tmp_path) as found:
        anyio.run(source.scan)
    assert found == {"one/a.md"}


@pytest.mark.usefixtures("settled")
def test_rescan_of_one_skill_reads_no_other(tmp_path: Path) -> None:
    write_skill(tmp_path, "one", {"a.md": "a"})
    write_skill(tmp_path, "two", {"a.md": "a"})
    source = FolderSource(tmp_path)
    entry = anyio.run(source.scan).entries[0]
    with record_reads(tmp_path) as found:
        anyio.run(source.rescan, frozenset({entry.origin.location}))
    assert found == {"one/SKILL.md", "one/a.md"}


def test_recently_written_file_is_read_again(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    source = FolderSource(tmp_path)
    anyio.run(source.scan)
    with record_reads(tmp_path) as found:
        anyio.run(source.scan)
    assert found == {"one/SKILL.md"}


def test_file_settles_two_seconds_after_last_change() -> None:
    stamp = Stamp(size=1, modified_ns=10 * SECOND, changed_ns=20 * SECOND, inode=1, device=1)
    assert not stamp.settled(20 * SECOND)
    assert not stamp.settled(22 * SECOND)
    assert stamp.settled(22 * SECOND + 1)


def test_every_field_of_stamp_is_compared(tmp_path: Path) -> None:
    file = write(tmp_path, {"a.md": "a"}) / "a.md"
    first = Stamp.of(file.stat())
    other = tmp_path / "b.md"
    other.write_bytes(b"a")
    os.utime(other, ns=(first.modified_ns, first.modified_ns))
    other.replace(file)
    second = Stamp.of(file.stat())
    assert (second.size, second.modified_ns) == (first.size, first.modified_ns)
    assert second != first


@pytest.mark.usefixtures("settled")
def test_frontmatter_of_unchanged_skill_is_reused(tmp_path: Path) -> None:
    write(tmp_path, {"one/SKILL.md": skill_md("one", description="As it was.")})
    source = FolderSource(tmp_path)
    anyio.run(source.scan)
    assert anyio.run(source.scan).entries[0].description == "As it was."
