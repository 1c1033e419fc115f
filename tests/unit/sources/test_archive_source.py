"""Archives as sources: unpacked once, watched for changes, with the last good snapshot as a fallback."""

import os
import shutil
from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from skillwire.errors import SourceError, SourceMissingError
from skillwire.protocol.archive_rules import ArchiveBounds
from skillwire.protocol.delivery import ArchiveFormat
from skillwire.protocol.packing import pack
from skillwire.sources import EVERYWHERE, FetchedSource, Limits, Rule, Severity
from skillwire.sources.archive import ArchiveFetcher
from tests.support.scans import faults, problems, uris
from tests.support.skills import LONG_AGO, skill_md, tree_stamps

pytestmark = pytest.mark.anyio

SOON = 10
"""Timeout of everything that a test waits for."""
REFUNDS = {"SKILL.md": skill_md("refunds"), "references/policy.md": b"# Policy\r\n"}
SEVERAL = {
    **{f"acme/refunds/{path}": content for path, content in REFUNDS.items()},
    "hello/SKILL.md": skill_md("hello"),
    "skills/triage/SKILL.md": skill_md("triage"),
    "no-name/SKILL.md": b"---\ndescription: x\n---\n",
    "README.md": b"# Read me\n",
}


class Shelf:
    """A folder for archives, and the cache that they are unpacked into."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = root / "cache"

    def put(self, files: Mapping[str, bytes] | bytes, name: str = "skills.zip") -> Path:
        """Put an archive here in one step, in the place of one that may be there."""
        form = ArchiveFormat.ZIP if name.endswith(".zip") else ArchiveFormat.TAR_GZ
        content = files if isinstance(files, bytes) else pack(files, form)
        path = self.root / name
        written = path.with_name("written")
        written.write_bytes(content)
        return written.replace(path)

    def source(self, name: str = "skills.zip", limits: Limits | None = None) -> FetchedSource:
        """Return a source of the archive of this name, as a new process would."""
        return FetchedSource(
            ArchiveFetcher(self.root / name, self.cache), label="x", limits=limits, every=0.01
        )

    def copies(self) -> set[str]:
        return {path.name for path in (self.cache / "archives").iterdir() if path.is_dir()}


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


async def next_change(source: FetchedSource) -> None:
    with anyio.fail_after(SOON):
        async with aclosing(source.changes()) as changes:
            assert await anext(changes) == EVERYWHERE


# What is served


@pytest.mark.parametrize("name", ["skills.zip", "skills.tar.gz", "skills.tgz"])
async def test_every_skill_of_archive_is_served_under_its_path(shelf: Shelf, name: str) -> None:
    shelf.put(SEVERAL, name)
    source = shelf.source(name)
    scan = await source.scan()
    assert uris(scan) == ["acme/refunds", "hello", "triage"]
    assert faults(scan) == {("no-name/SKILL.md", Rule.NAME_MISSING, Severity.ERROR)}
    for file in scan.entries[0].files:
        assert await source.read(scan.entries[0], file) == REFUNDS[file.path]
    assert await source.scan() == await source.rescan() == scan


@pytest.mark.parametrize("name", ["skills.zip", "skills.tar.gz"])
async def test_executable_files_stay_executable(shelf: Shelf, name: str) -> None:
    form = ArchiveFormat.ZIP if name.endswith(".zip") else ArchiveFormat.TAR_GZ
    files = {f"around/{path}": content for path, content in {**REFUNDS, "run": b"\x7fELF"}.items()}
    shelf.put(pack(files, form, executable=["around/run"]), name)
    (entry,) = (await shelf.source(name).scan()).entries
    assert entry.executable == {"run"}


@pytest.mark.parametrize("name", ["refunds.zip", "download (1).tar.gz"])
async def test_skill_at_archive_root_keeps_its_own_name(shelf: Shelf, name: str) -> None:
    shelf.put(REFUNDS, name)
    scan = await shelf.source(name).scan()
    assert [entry.uri for entry in scan.entries] == ["skill://refunds/SKILL.md"]
    assert [file.path for file in scan.entries[0].files] == list(REFUNDS)
    assert problems(scan) == []


async def test_broken_root_skill_suggests_name_of_archive(
    shelf: Shelf,
) -> None:
    shelf.put({"SKILL.md": b"---\ndescription: x\n---\n"}, "Refund Desk.zip")
    scan = await shelf.source("Refund Desk.zip").scan()
    (problem,) = scan.problems
    assert (problem.path, problem.rule) == ("SKILL.md", Rule.NAME_MISSING)
    assert "`name: refund-desk`" in problem.hint


@pytest.mark.parametrize("form", [".zip", ".tar.gz"])
async def test_single_top_folder_is_not_part_of_paths(shelf: Shelf, form: str) -> None:
    shelf.put({f"skills-main/{path}": content for path, content in SEVERAL.items()}, f"main{form}")
    scan = await shelf.source(f"main{form}").scan()
    assert uris(scan) == ["acme/refunds", "hello", "triage"]


@pytest.mark.parametrize("folder", ["refunds", "repo-1.2.3"])
async def test_skill_in_single_top_folder_is_root_skill(shelf: Shelf, folder: str) -> None:
    shelf.put({f"{folder}/{path}": content for path, content in REFUNDS.items()})
    scan = await shelf.source().scan()
    assert uris(scan) == ["refunds"]
    assert problems(scan) == []


async def test_only_outermost_folder_is_stripped(shelf: Shelf) -> None:
    shelf.put({"main/acme/refunds/SKILL.md": skill_md("refunds")})
    assert uris(await shelf.source().scan()) == ["acme/refunds"]


async def test_macos_metadata_folder_is_ignored(shelf: Shelf) -> None:
    shelf.put({"main/acme/refunds/SKILL.md": skill_md("refunds"), "__MACOSX/main/._acme": b"\0\5\x16\7"})
    scan = await shelf.source().scan()
    assert uris(scan) == ["acme/refunds"]
    assert problems(scan) == []


async def test_hidden_top_folder_stays_hidden(shelf: Shelf) -> None:
    shelf.put({".claude/skills/hello/SKILL.md": skill_md("hello"), ".claude/old/SKILL.md": skill_md("old")})
    assert uris(await shelf.source().scan()) == ["hello"]


async def test_limits_apply_to_each_skill_of_archive(shelf: Shelf) -> None:
    shelf.put(SEVERAL)
    scan = await shelf.source(limits=Limits(files=1)).scan()
    assert uris(scan) == ["hello", "triage"]
    assert ("acme/refunds/SKILL.md", Rule.SKILL_FILES, Severity.ERROR) in faults(scan)


# What changes


async def test_replaced_archive_is_noticed(shelf: Shelf) -> None:
    shelf.put(REFUNDS)
    source = shelf.source()
    before = await source.scan()
    shelf.put({"hello/SKILL.md": skill_md("hello"), "triage/SKILL.md": skill_md("triage")})
    await next_change(source)
    assert uris(await source.rescan(EVERYWHERE)) == ["hello", "triage"]
    # The previous snapshot may still be read.
    assert await source.read(before.entries[0], before.entries[0].files[0]) == REFUNDS["SKILL.md"]


async def test_archive_replaced_before_watching_is_noticed(shelf: Shelf) -> None:
    shelf.put(REFUNDS)
    mirror = ArchiveFetcher(shelf.root / "skills.zip", shelf.cache)
    await mirror.fetch()
    shelf.put(SEVERAL)
    with anyio.fail_after(SOON):
        async with aclosing(mirror.changes(0)) as times:
            await anext(times)


async def test_unchanged_archive_reports_no_change(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.put(REFUNDS)
    mirror = ArchiveFetcher(shelf.root / "skills.zip", shelf.cache)
    await mirror.fetch()
    looks: list[float] = []

    async def look_later(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) in {20, 40}:
            shelf.put(SEVERAL if len(looks) == 20 else b"broken")
        await anyio.lowlevel.checkpoint()

    monkeypatch.setattr(anyio, "sleep", look_later)
    with anyio.fail_after(SOON):
        async with aclosing(mirror.changes(300)) as times:
            await anext(times)
            assert len(looks) == 20
            await anext(times)
            assert len(looks) == 40
    assert set(looks) == {1.0}


async def test_archive_that_appears_later_is_noticed(shelf: Shelf) -> None:
    source = shelf.source()
    with pytest.raises(SourceMissingError, match=r"^`skills\.zip` does not exist, or cannot be read$"):
        await source.scan()
    shelf.put(REFUNDS)
    await next_change(source)
    assert uris(await source.scan()) == ["refunds"]


# What breaks


async def test_last_good_snapshot_is_served_while_archive_is_written(shelf: Shelf) -> None:
    shelf.put(REFUNDS)
    source = shelf.source()
    before = await source.scan()
    shelf.put(pack(SEVERAL, ArchiveFormat.ZIP)[:100])
    await next_change(source)
    scan = await source.rescan(EVERYWHERE)
    assert scan.entries == before.entries
    (problem,) = scan.problems
    assert problem.rule is Rule.SOURCE_STALE
    assert problem.message.endswith(": `skills.zip` is cut short")
    shelf.put(SEVERAL)
    await next_change(source)
    scan = await source.rescan(EVERYWHERE)
    assert uris(scan) == ["acme/refunds", "hello", "triage"]
    assert Rule.SOURCE_STALE not in {problem.rule for problem in scan.problems}


@pytest.mark.parametrize("broken", [None, b"PK\3\4"])
async def test_last_good_snapshot_survives_restart_with_missing_or_broken_archive(
    shelf: Shelf, broken: bytes | None
) -> None:
    archive = shelf.put(SEVERAL)
    good = await shelf.source().scan()
    if broken is None:
        archive.unlink()
    else:
        shelf.put(broken)
    scan = await shelf.source().scan()
    assert scan.entries == good.entries
    assert (".", Rule.SOURCE_STALE, Severity.WARNING) in faults(scan)


async def test_last_good_snapshot_is_never_of_another_archive(shelf: Shelf) -> None:
    shelf.put(SEVERAL, "other.zip")
    await shelf.source("other.zip").scan()
    shelf.put(b"broken")
    with pytest.raises(SourceError, match=r"^`skills\.zip` is not a zip file$"):
        await shelf.source().scan()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("skills.rar", b"Rar!", "`skills.rar` is neither a `.zip` nor a `.tar.gz` file"),
        ("skills.tgz", b"PK", "`skills.tgz` is not a tar.gz file"),
        (
            "skills.zip",
            pack({"__/x": b""}, ArchiveFormat.ZIP).replace(b"__/x", b"../x"),
            "`skills.zip` contains `../x`, which has `..` in its path",
        ),
        (
            "skills.tar.gz",
            pack({"a": b"", "b": b"", "c": b""}, ArchiveFormat.TAR_GZ),
            "`skills.tar.gz` contains more than 2 files and folders",
        ),
    ],
)
async def test_unusable_archive_reports_reason(shelf: Shelf, name: str, content: bytes, message: str) -> None:
    mirror = ArchiveFetcher(shelf.put(content, name), shelf.cache, ArchiveBounds(entries=2))
    with pytest.raises(SourceError) as caught:
        await mirror.fetch()
    assert str(caught.value) == message
    assert mirror.last() is None


async def test_folder_named_like_archive_is_reported(shelf: Shelf) -> None:
    (shelf.root / "skills.zip").mkdir()
    with pytest.raises(SourceError, match=r"^`skills\.zip` is not a regular file$"):
        await shelf.source().scan()


async def test_unwritable_cache_is_reported(shelf: Shelf) -> None:
    shelf.put(REFUNDS)
    shelf.cache.write_bytes(b"in the way")
    with pytest.raises(SourceError, match=r"^`skills\.zip` cannot be unpacked into the cache: "):
        await shelf.source().scan()


# What is in the cache


async def test_archive_is_unpacked_once(shelf: Shelf) -> None:
    archive = shelf.put(SEVERAL)
    first = await ArchiveFetcher(archive, shelf.cache).fetch()
    written = tree_stamps(first.root)
    again = await ArchiveFetcher(archive, shelf.cache).fetch()
    assert again == first
    assert tree_stamps(again.root) == written


async def test_concurrent_unpacking_of_one_archive_works(shelf: Shelf) -> None:
    archive = shelf.put(SEVERAL)
    roots: list[Path] = []

    async def fetch() -> None:
        roots.append((await ArchiveFetcher(archive, shelf.cache).fetch()).root)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(fetch)
    assert len(roots) == 8
    assert len(set(roots)) == len(shelf.copies()) == 1
    assert {path.relative_to(roots[0]).as_posix() for path in roots[0].rglob("*.md")} == set(SEVERAL)


async def test_leftovers_of_crash_are_never_served(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = shelf.put(SEVERAL)

    def crash(_descriptor: int) -> None:
        raise KeyboardInterrupt

    def clean_up_nothing(_folder: Path, *, ignore_errors: bool) -> None:
        assert ignore_errors

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", crash)
        patch.setattr(shutil, "rmtree", clean_up_nothing)
        with pytest.raises(KeyboardInterrupt):
            await ArchiveFetcher(archive, shelf.cache).fetch()
    assert len(shelf.copies()) == 1
    assert ArchiveFetcher(archive, shelf.cache).last() is None
    assert uris(await shelf.source().scan()) == ["acme/refunds", "hello", "triage"]


async def test_outdated_snapshots_are_removed_after_retention_time(shelf: Shelf) -> None:
    mirror = ArchiveFetcher(shelf.put(REFUNDS), shelf.cache)
    versions: list[str] = []
    for number in range(4):
        shelf.put({"SKILL.md": skill_md("refunds", f"Version {number}.")})
        versions.append((await mirror.fetch()).version)
    assert shelf.copies() == set(versions)  # another server may be using any of them
    for version in versions:
        os.utime(shelf.cache / "archives" / version, (LONG_AGO, LONG_AGO))
    shelf.put({"SKILL.md": skill_md("refunds", "Version 5.")})
    versions.append((await mirror.fetch()).version)
    # The third was current until now, so its retention time starts now.
    assert shelf.copies() == set(versions[2:])


async def test_snapshot_used_by_another_archive_is_not_removed(shelf: Shelf) -> None:
    shelf.put(REFUNDS, "other.zip")
    await shelf.source("other.zip").scan()
    (kept,) = shelf.copies()
    mirror = ArchiveFetcher(shelf.root / "skills.zip", shelf.cache)
    for number in range(4):
        shelf.put(REFUNDS if number == 0 else {"SKILL.md": skill_md("refunds", f"Version {number}.")})
        await mirror.fetch()
        for copy in shelf.copies():
            os.utime(shelf.cache / "archives" / copy, (LONG_AGO, LONG_AGO))
    assert kept in shelf.copies()
    (shelf.root / "other.zip").unlink()
    assert uris(await shelf.source("other.zip").scan()) == ["refunds"]
