"""The scan cache: a start reads only files that changed, and trusts nothing blindly."""

import hashlib
import json
import os
import shutil
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skillwire import FolderSource, Library
from skillwire.sources import Limits, Scan
from tests.support.reading import record_reads
from tests.support.skills import skill_md, write, write_skill

SECOND = 1_000_000_000


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat files as settled at once, so that tests need not wait."""
    monkeypatch.setattr("skillwire.sources.folder.files._SETTLED_AFTER_NS", -SECOND)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "skills"
    one = write_skill(root, "one", {"a.md": "a", "blob.bin": bytes(range(256))})
    (one / "blob.bin").chmod(0o755)
    write(root / "odd", {"SKILL.md": "---\nname: odd\ndescription: x\nlist: [1, 2.5, null]\n---\nBody\n"})
    write(root / "warned", {"SKILL.md": skill_md("other"), "b.md": "b"})
    return root


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def start(tree: Path, cache: Path, *, keep_good: bool = False) -> tuple[FolderSource, Scan]:
    """Scan as a new process would."""
    source = FolderSource(tree, keep_good=keep_good, digests=cache)
    return source, anyio.run(source.scan)


def run_until_settled(source: FolderSource) -> None:
    """Watch a source until its scan cache is written."""

    async def noticed() -> None:
        with anyio.fail_after(30):
            async for _ in source.changes():  # the first event comes after the cache is written
                return

    anyio.run(noticed)


def read_in(action: Callable[[], object], root: Path) -> set[str]:
    """Return the files below `root` that were read meanwhile."""
    with record_reads(root) as found:
        action()
    return found


def the_file(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def rewrite(cache: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the content of the cache file, and update its checksum."""
    head, _, body = the_file(cache).read_bytes().partition(b"\n")
    changed = change(body)
    assert changed != body
    told = [*json.loads(head)[:-1], hashlib.sha256(changed).hexdigest()]
    the_file(cache).write_bytes(json.dumps(told).encode() + b"\n" + changed)


@pytest.fixture
def remembered(tree: Path, cache: Path) -> Scan:
    """What the first start found and cached."""
    source, first = start(tree, cache)
    run_until_settled(source)
    return first


def test_second_start_reads_only_changed_files(tree: Path, cache: Path, remembered: Scan) -> None:
    found: list[Scan] = []
    assert read_in(lambda: found.append(start(tree, cache)[1]), tree) == {"warned/SKILL.md"}
    assert found == [remembered]
    (tree / "one" / "a.md").write_text("other")
    assert read_in(lambda: start(tree, cache), tree) == {"warned/SKILL.md", "one/a.md"}


def test_cache_file_is_readable_only_by_owner(cache: Path, remembered: Scan) -> None:
    assert remembered.entries
    assert the_file(cache).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"[]", b"null", b'["another", "/"]\n', b"\xff" * 100],
    ids=["empty", "cut", "list", "null", "another form", "no text"],
)
def test_damaged_cache_file_is_ignored(tree: Path, cache: Path, remembered: Scan, broken: bytes) -> None:
    the_file(cache).write_bytes(broken)
    assert start(tree, cache)[1] == remembered


def test_truncated_cache_file_is_ignored(tree: Path, cache: Path, remembered: Scan) -> None:
    whole = the_file(cache).read_bytes()
    the_file(cache).write_bytes(whole[: len(whole) // 2])
    assert start(tree, cache)[1] == remembered


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_cache_file_with_any_changed_byte_is_ignored(
    tree: Path, cache: Path, remembered: Scan, data: st.DataObject
) -> None:
    whole = the_file(cache).read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[at]))
    the_file(cache).write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
    found: list[Scan] = []
    opened = read_in(lambda: found.append(start(tree, cache)[1]), tree)
    the_file(cache).write_bytes(whole)
    assert found == [remembered]
    assert len(opened) == 6


def test_changed_limits_invalidate_the_cache(tree: Path, cache: Path, remembered: Scan) -> None:
    assert "one" in {entry.name for entry in remembered.entries}
    source = FolderSource(tree, digests=cache, limits=Limits(bytes=250))
    scan = anyio.run(source.scan)
    assert {entry.name for entry in scan.entries} == {"odd", "other"}


def test_ignore_file_added_since_last_run_applies(tree: Path, cache: Path, remembered: Scan) -> None:
    assert "skill://one/a.md" in {
        each.uri_of(file.path) for each in remembered.entries for file in each.files
    }
    write(tree, {".skillwireignore": "a.md\n"})
    scan = start(tree, cache)[1]
    assert {file.path for entry in scan.entries for file in entry.files} == {"SKILL.md", "b.md", "blob.bin"}


@pytest.mark.parametrize("change", ["file", "folder", "hidden folder", "nested skill", "link", "rename"])
def test_changes_since_last_run_are_found(tree: Path, cache: Path, change: str, tmp_path: Path) -> None:
    write(tree, {"one/refs/deep/b.md": "b"})
    source, _ = start(tree, cache)
    run_until_settled(source)
    inside = tree / "one/refs/deep"
    match change:
        case "file":
            write(inside, {"new.md": "new"})
        case "folder":
            write(inside, {"new/": b""})
        case "hidden folder":
            write(inside, {".new/x.md": "x"})
        case "nested skill":
            write(inside, {"SKILL.md": skill_md("deep")})
        case "link":
            (inside / "b.md").unlink()
            (inside / "b.md").symlink_to(tree / "one/a.md")
        case _:
            inside.rename(tree / "one/refs/other")
    assert start(tree, cache)[1] == anyio.run(FolderSource(tree).scan)


def test_replaced_folder_is_read_again(tree: Path, cache: Path) -> None:
    source, _ = start(tree, cache)
    run_until_settled(source)
    shutil.copytree(tree / "one", tree / "copy")  # with the same times
    (tree / "copy/a.md").write_text("b")
    modified = (tree / "one/a.md").stat().st_mtime_ns
    os.utime(tree / "copy/a.md", ns=(modified, modified))
    (tree / "one").rename(tree.parent / "away")
    (tree / "copy").rename(tree / "one")
    assert start(tree, cache)[1] == anyio.run(FolderSource(tree).scan)


def test_files_of_unusual_skills_are_cached_individually(tree: Path, cache: Path) -> None:
    write(tree, {"one/inner/SKILL.md": skill_md("inner"), "two/SKILL.md": skill_md("two")})
    (tree / "two/linked.md").symlink_to(tree / "one/a.md")
    source, first = start(tree, cache)
    run_until_settled(source)
    found: list[Scan] = []
    assert read_in(lambda: found.append(start(tree, cache)[1]), tree) == {"warned/SKILL.md"}
    assert found == [first]


def test_wrong_cached_digest_is_detected_on_first_read(tree: Path, cache: Path, remembered: Scan) -> None:
    assert remembered.entries
    digests = [hashlib.sha256((tree / "one" / name).read_bytes()).digest() for name in ("SKILL.md", "a.md")]
    right, wrong = (b64encode(digests[0] + each)[:-4] for each in (digests[1], bytes(32)))
    rewrite(cache, lambda body: body.replace(right, wrong))

    async def read() -> tuple[bytes, str]:
        library = Library([FolderSource(tree, digests=cache)])
        await library.load()
        reading = await library.read("skill://one/a.md")
        listed = {file.path: file for file in library.catalog.skill("skill://one/SKILL.md").files}
        digest = getattr(listed["a.md"], "digest", None)
        return reading.content, str(digest)

    content, digest = anyio.run(read)
    assert (content, digest) == (b"a", "sha256:" + hashlib.sha256(b"a").hexdigest())


def test_unwritable_cache_does_not_stop_the_server(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    source, scan = start(tree, tmp_path / "cache")
    run_until_settled(source)
    assert {entry.name for entry in scan.entries} == {"one", "odd", "other"}


def test_cached_skill_broken_by_edit_serves_last_good_version(tree: Path, cache: Path) -> None:
    source, _ = start(tree, cache, keep_good=True)
    run_until_settled(source)
    second, before = start(tree, cache, keep_good=True)
    run_until_settled(second)
    good = (tree / "one" / "SKILL.md").read_bytes()
    (tree / "one" / "SKILL.md").write_bytes(b"broken")

    async def again() -> tuple[Scan, bytes]:
        scan = await second.rescan(frozenset({str(tree / "one")}))
        entry = next(entry for entry in scan.entries if entry.name == "one")
        return scan, await second.read(entry, entry.files[0])

    after, content = anyio.run(again)
    assert content == good
    assert {entry.uri for entry in after.entries} == {entry.uri for entry in before.entries}


def test_failed_cache_write_leaves_no_files(
    tree: Path, cache: Path, remembered: Scan, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert remembered.entries
    before = the_file(cache).read_bytes()
    (tree / "one/a.md").write_text("other")
    source, _ = start(tree, cache)
    monkeypatch.setattr(os, "replace", Mock(side_effect=OSError("no room")))
    run_until_settled(source)
    assert the_file(cache).read_bytes() == before
