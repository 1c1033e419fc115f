"""Index files that are damaged, older, hostile or cannot be written: results are right all the same."""

import hashlib
import os
import resource
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillwire import MemorySource
from skillwire.sources import MemorySkill, Rule
from tests.support.peers import PATIENCE, skillwire
from tests.support.searching import (
    Audience,
    SearchResults,
    all_pages,
    leftovers,
    library_with_index,
    searchable,
    stored_files,
)

pytestmark = pytest.mark.anyio

QUERIES = ["refund", "kuberntes", "inv", "s1", "refund invoice deploy"]
SKILLS = [
    searchable("s1", "refund", "Pay invoices."),
    searchable("s2", "kubernetes", "# Deploy\n\nRefund."),
    searchable("s3", "invoices"),
    searchable("s4", "deployment", "refund refund"),
]


@pytest.fixture(autouse=True)
def _stored_at_once(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Store the index of a few skills, as that of many."""
    monkeypatch.setattr("skillwire.search.service._MANY", 2)


async def answers(folder: Path | None, skills: list[MemorySkill] = SKILLS) -> list[SearchResults]:
    """Return what a new process with this folder of index files would answer."""
    library = library_with_index(MemorySource(skills), folder=folder)
    with anyio.fail_after(PATIENCE):
        return [await all_pages(library, query, Audience.MODELS) for query in QUERIES]


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """A folder with an index file."""
    folder = tmp_path / "search"
    assert await answers(folder) == await answers(None)
    assert len(stored_files(folder)) == 1
    return folder


def flipped(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at % len(content)] ^= 0xFF
    path.write_bytes(content)


async def test_unchanged_index_file_is_used_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = stored_files(folder)
    before = path.stat().st_ino

    def refuse(*_: object) -> None:
        raise AssertionError("an unchanged skill was indexed again")

    expected = await answers(None)
    monkeypatch.setattr("skillwire.search.service.make_document", refuse)
    assert await answers(folder) == expected
    assert [each.stat().st_ino for each in stored_files(folder)] == [before]


async def test_flipped_bytes_anywhere_are_noticed(folder: Path) -> None:
    expected = await answers(None)
    (path,) = stored_files(folder)
    good = path.read_bytes()
    for at in range(0, len(good), len(good) // 24):
        flipped(path, at)
        damaged = path.read_bytes()
        assert await answers(folder) == expected
        assert [each.read_bytes() for each in stored_files(folder)] != [damaged]
        for each in stored_files(folder):
            each.unlink()
        path.write_bytes(good)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def no_database(path: Path) -> None:
    path.write_bytes(b"This is not a database. " * 400)


def another_format(path: Path) -> None:
    rewritten(path, "PRAGMA user_version = 99")


def older_tables(path: Path) -> None:
    rewritten(path, "DROP TABLE posting")


def no_documents(path: Path) -> None:
    rewritten(path, "DELETE FROM document")


def wrong_numbers(path: Path) -> None:
    rewritten(path, "UPDATE document SET id = id + 70000")


def odd_postings(path: Path) -> None:
    rewritten(path, "UPDATE posting SET packed = x'010203'")


def empty_postings(path: Path) -> None:
    rewritten(path, "UPDATE posting SET packed = x''")


def negative_numbers(path: Path) -> None:
    rewritten(path, "UPDATE posting SET first = -1")


def large_numbers(path: Path) -> None:
    rewritten(path, "UPDATE posting SET packed = x'ffffffff'")


def rewritten(path: Path, change: str) -> None:
    """Change a database, and give it the name that belongs to its new content."""
    database = sqlite3.connect(path)
    database.execute(change)
    database.commit()
    database.close()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.rename(path.with_name(f"{path.name.partition('-')[0]}-{digest}.db"))


def folder_in_place(path: Path) -> None:
    path.unlink()
    (path / "more").mkdir(parents=True)


def pipe_in_place(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def endless_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent / "nowhere")


def looping_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


DAMAGE: list[Callable[[Path], None]] = [
    truncate,
    empty,
    no_database,
    another_format,
    older_tables,
    odd_postings,
    empty_postings,
    negative_numbers,
    large_numbers,
    folder_in_place,
    pipe_in_place,
    endless_link,
    dangling_link,
    looping_link,
]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda each: each.__name__)
async def test_damaged_index_file_is_replaced(folder: Path, damage: Callable[[Path], None]) -> None:
    expected = await answers(None)
    (path,) = stored_files(folder)
    damage(path)
    assert await answers(folder) == expected
    assert await answers(folder) == expected
    assert leftovers(folder) == []
    if damage is not folder_in_place:  # nothing of the user is removed
        (stored,) = stored_files(folder)
        assert stored.is_file()
        assert not stored.is_symlink()


@pytest.mark.parametrize(
    "damage", [odd_postings, empty_postings, negative_numbers, large_numbers, no_documents, wrong_numbers]
)
async def test_inconsistent_database_never_raises(folder: Path, damage: Callable[[Path], None]) -> None:
    (path,) = stored_files(folder)
    damage(path)
    changed = [*SKILLS, searchable("s5", "refund"), searchable("s6", "refund"), searchable("s7", "refund")]
    library = library_with_index(MemorySource(changed), folder=folder)
    for query in QUERIES:
        for each in (await library.search(query)).results:
            assert each.uri in library.catalog.entries


async def test_link_in_place_of_a_file_never_changes_its_target(folder: Path, tmp_path: Path) -> None:
    (path,) = stored_files(folder)
    target = tmp_path / "target.db"
    path.rename(target)
    before, stamp = target.read_bytes(), target.stat().st_mtime_ns
    path.symlink_to(target)
    assert await answers(folder) == await answers(None)
    assert (target.read_bytes(), target.stat().st_mtime_ns) == (before, stamp)


async def test_cache_folder_may_be_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "search").symlink_to(real)
    assert await answers(tmp_path / "search") == await answers(None)
    assert len(stored_files(real)) == 1


async def test_damage_while_the_index_is_open_never_raises(folder: Path) -> None:
    source = MemorySource([*SKILLS])
    library = library_with_index(source, folder=folder)
    expected = await answers(None)
    assert [await all_pages(library, query, Audience.MODELS) for query in QUERIES] == expected
    (path,) = stored_files(folder)
    os.truncate(path, 0)
    source.put(searchable("s5", "spreadsheet"))
    await library.rescan_source(source)
    found = await library.search("spreadsheet")
    assert [each.name for each in found.results] == ["s5"]
    source.put(searchable("s6", "spreadsheet"))
    source.put(searchable("s7", "spreadsheet"))
    source.remove("s1")
    await library.rescan_source(source)
    await library.search("refund")
    found = await library.search("spreadsheet")
    assert [each.name for each in found.results] == ["s5", "s6", "s7"]


@given(noise=st.binary(max_size=600), place=st.integers(0, 60_000))
@settings(max_examples=25)
def test_any_bytes_written_into_the_open_file_never_raise(noise: bytes, place: int) -> None:
    async def search(folder: Path) -> None:
        library = library_with_index(MemorySource(SKILLS), folder=folder)
        await library.search("refund")
        (path,) = stored_files(folder)
        with path.open("r+b") as file:
            file.seek(place % path.stat().st_size)
            file.write(noise)
        for query in QUERIES:
            found = await library.search(query)
            assert {each.uri for each in found.results} <= library.catalog.entries.keys()

    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr("skillwire.search.service._MANY", 2)
        anyio.run(search, Path(folder) / "search")


# Where nothing can be written


async def in_memory(folder: Path) -> str:
    """Assert that the index works without its folder. Return the message that says so."""
    library = library_with_index(MemorySource(SKILLS), folder=folder)
    found = [await all_pages(library, query, Audience.MODELS) for query in QUERIES]
    assert found == await answers(None)
    (problem,) = library.catalog.problems
    assert problem.rule is Rule.SEARCH_NOT_STORED
    assert "cannot be stored" in problem.message
    assert problem.hint
    return problem.message


async def test_file_in_place_of_the_folder_means_memory(tmp_path: Path) -> None:
    (tmp_path / "search").write_text("mine")
    await in_memory(tmp_path / "search")
    assert (tmp_path / "search").read_text() == "mine"


async def test_dangling_link_in_place_of_the_folder_means_memory(tmp_path: Path) -> None:
    (tmp_path / "search").symlink_to(tmp_path / "nowhere")
    await in_memory(tmp_path / "search")
    assert not (tmp_path / "nowhere").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB; without the right to mount one, the test is skipped."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False, timeout=PATIENCE).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("no right to mount a disk")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True, timeout=PATIENCE)


def remount(disk: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(disk)], check=True, timeout=PATIENCE)


async def test_full_disk_means_memory_and_leaves_no_files(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(bytes(60 * 1024))
    assert "full" in await in_memory(small_disk / "search")
    assert leftovers(small_disk / "search") == []


async def test_read_only_disk_means_memory(small_disk: Path) -> None:
    remount(small_disk, "ro")
    assert "Read-only" in await in_memory(small_disk / "search")


async def test_stored_index_on_a_read_only_disk_is_used(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = await answers(None)
    remount(small_disk, "size=4m")
    assert await answers(small_disk / "search") == expected
    remount(small_disk, "ro")
    monkeypatch.setattr("skillwire.search.service.make_document", None)
    assert await answers(small_disk / "search") == expected


def test_limit_on_the_size_of_files_means_memory(tmp_path: Path) -> None:
    for at in range(600):
        folder = tmp_path / "skills" / f"s{at}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: s{at}\ndescription: Refund {at:x}.\n---\n\nword{at}\n")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16 * 1024, 16 * 1024))

    done = subprocess.run(
        skillwire("search", "refund", "--from", tmp_path / "skills", "--limit", "50"),
        env={**os.environ, "SKILLWIRE_CACHE_DIR": str(tmp_path / "cache")},
        preexec_fn=limit,
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 50
    assert b"the search index cannot be stored" in done.stderr
    assert leftovers(tmp_path / "cache" / "search") == []
