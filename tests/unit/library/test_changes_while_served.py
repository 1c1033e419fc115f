"""A read returns bytes that some listing promised, whatever happens to the files meanwhile."""

import errno
import os
import threading
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from skillwire import FolderSource, Library
from skillwire.errors import NotServedError, UnsettledError
from skillwire.sources import EVERYWHERE, Locations, Rule, Scan, SkillFile
from tests.support.liars import Failing, Liar
from tests.support.skills import make_fifo, skill_md, write, write_skill

pytestmark = [pytest.mark.anyio, pytest.mark.rule("S19")]

URI = "skill://one/SKILL.md"
POLICY = "skill://one/policy.md"


async def loaded(root: Path) -> Library:
    library = Library([FolderSource(root)])
    await library.load()
    return library


def digest(library: Library, uri: str) -> str:
    file = library.catalog.file(uri).file
    assert isinstance(file, SkillFile)
    return file.digest.text


async def test_an_edited_file_is_answered_from_a_new_listing(tmp_path: Path) -> None:
    write_skill(tmp_path, "one", {"policy.md": "old"})
    library = await loaded(tmp_path)
    before = digest(library, POLICY)
    write(tmp_path, {"one/policy.md": "new, and longer"})
    reading = await library.read(POLICY)
    assert reading.content == b"new, and longer"
    assert digest(library, POLICY) != before
    assert reading.served.file == library.catalog.file(POLICY).file


async def test_an_edit_of_the_same_length_and_time_is_noticed(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one", {"policy.md": "old"})
    library = await loaded(tmp_path)
    status = (folder / "policy.md").stat()
    (folder / "policy.md").write_bytes(b"new")
    os.utime(folder / "policy.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (await library.read(POLICY)).content == b"new"


async def test_an_edit_shows_in_the_skill_around_it_too(tmp_path: Path) -> None:
    outer = write_skill(tmp_path, "outer")
    write_skill(outer, "inner", {"help.md": "old"})
    library = await loaded(tmp_path)
    write(outer, {"inner/help.md": "new"})
    await library.read("skill://outer/inner/help.md")
    entries = library.catalog.entries
    inner = {f.path: f for f in entries["skill://outer/inner/SKILL.md"].files}["help.md"]
    around = {f.path: f for f in entries["skill://outer/SKILL.md"].files}["inner/help.md"]
    assert isinstance(inner, SkillFile)
    assert isinstance(around, SkillFile)
    assert inner.digest == around.digest


async def test_a_file_that_went_away_is_not_served_any_more(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one", {"policy.md": "old"})
    library = await loaded(tmp_path)
    (folder / "policy.md").unlink()
    with pytest.raises(NotServedError):
        await library.read(POLICY)
    assert (await library.read(URI)).content == skill_md("one")


async def test_a_skill_that_went_away_takes_no_other_with_it(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one")
    write_skill(tmp_path, "two")
    library = await loaded(tmp_path)
    (folder / "SKILL.md").unlink()
    folder.rmdir()
    with pytest.raises(NotServedError):
        await library.read(URI)
    assert list(library.catalog.entries) == ["skill://two/SKILL.md"]


async def test_a_skill_that_broke_becomes_a_problem(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one")
    library = await loaded(tmp_path)
    (folder / "SKILL.md").write_bytes(b"---\nname: [\n---\n")
    with pytest.raises(NotServedError):
        await library.read(URI)
    assert [problem.path for problem in library.catalog.problems] == ["one/SKILL.md"]
    (folder / "SKILL.md").write_bytes(skill_md("one", body="mended\n"))
    assert (await library.skill(URI)).uri == URI
    assert (await library.read(URI)).content == skill_md("one", body="mended\n")
    assert library.catalog.problems == ()


async def test_a_folder_that_is_away_for_a_moment_loses_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    write_skill(root, "one")
    write_skill(root, "two")
    library = await loaded(root)
    root.rename(tmp_path / "away")
    with pytest.raises(UnsettledError):
        await library.read(URI)
    assert len(library.catalog.entries) == 2
    assert [problem.rule for problem in library.catalog.problems] == [Rule.SOURCE_FAILED]
    (tmp_path / "away").rename(root)
    assert (await library.read(URI)).content == skill_md("one")
    assert library.catalog.problems == ()


async def test_a_machine_out_of_descriptors_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    write_skill(tmp_path, "one")
    library = await loaded(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("skillwire.sources.folder.files.os.open", exhausted)
        with pytest.raises(UnsettledError):
            await library.read(URI)
    assert (await library.read(URI)).content == skill_md("one")
    assert library.catalog.problems == ()


@pytest.mark.parametrize("replacement", ["fifo", "link", "folder"])
async def test_file_replaced_by_link_fifo_or_folder_is_not_read(tmp_path: Path, replacement: str) -> None:
    secret = write(tmp_path / "outside", {"secret.md": "SECRET"})
    folder = write_skill(tmp_path / "root", "one", {"policy.md": "old"})
    library = await loaded(tmp_path / "root")
    (folder / "policy.md").unlink()
    if replacement == "fifo":
        make_fifo(folder / "policy.md")
    elif replacement == "link":
        (folder / "policy.md").symlink_to(secret / "secret.md")
    else:
        (folder / "policy.md").mkdir()
    with anyio.fail_after(30), pytest.raises(NotServedError):
        await library.read(POLICY)


async def test_bytes_that_were_not_listed_are_never_returned(tmp_path: Path) -> None:
    async def lie(content: bytes) -> bytes:
        return content + b"!"

    write_skill(tmp_path, "one")
    source = Liar(FolderSource(tmp_path), lie)
    library = Library([source])
    await library.load()
    with pytest.raises(UnsettledError, match="changed while it was read; list the skills again"):
        await library.read(URI)
    assert source.scans == 2


async def test_rescan_older_than_the_last_change_is_repeated(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one", {"policy.md": "first"})

    begun = anyio.Event()

    class Slow(FolderSource):
        changing = True

        async def rescan(self, where: Locations = EVERYWHERE) -> Scan:
            if not self.changing:
                return await super().rescan(where)
            self.changing = False
            (folder / "policy.md").write_text("half")
            begun.set()
            found = await super().rescan(where)
            (folder / "policy.md").write_text("whole")
            return found

    source = Slow(tmp_path)
    library = Library([source])
    await library.load()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(library.rescan_source, source)
        await begun.wait()  # from now on, the reader has to wait for it
        assert (await library.read(POLICY)).content == b"whole"


async def test_concurrent_readers_of_a_changed_skill_rescan_once(tmp_path: Path) -> None:
    honest = FolderSource(tmp_path)
    folder = write_skill(tmp_path, "one")

    async def same(content: bytes) -> bytes:
        return content

    source = Liar(honest, same)
    library = Library([source])
    await library.load()
    (folder / "SKILL.md").write_bytes(skill_md("one", body="changed\n"))
    contents: list[bytes] = []

    async def one_reader() -> None:
        contents.append((await library.read(URI)).content)

    async with anyio.create_task_group() as readers:
        for _ in range(20):
            readers.start_soon(one_reader)
    assert contents == [skill_md("one", body="changed\n")] * 20
    assert source.scans == 2


async def test_reads_during_edits_match_a_digest_or_fail(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, "one", {"policy.md": "0" * 50_000})
    library = await loaded(tmp_path)
    stop = threading.Event()

    def storm() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            (folder / "policy.md").write_bytes(str(number % 10).encode() * 50_000)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, storm)
        for _ in range(200):
            try:
                reading = await library.read(POLICY)
            except (UnsettledError, NotServedError):
                continue
            reading.served.file.verify(reading.content, POLICY)
        stop.set()
    last = (await library.read(POLICY)).content
    assert last == (folder / "policy.md").read_bytes()


async def test_a_source_that_cannot_be_reached_hides_no_other(tmp_path: Path) -> None:
    write_skill(tmp_path, "one")
    library = Library([Failing(), FolderSource(tmp_path, label="good")])
    catalog = await library.load()
    assert list(catalog.entries) == [URI]
    (problem,) = catalog.problems
    assert "failing" in problem.message
    assert "the disk is on fire" in problem.message


async def test_a_folder_deleted_during_a_scan_breaks_nothing(tmp_path: Path) -> None:
    write_skill(tmp_path, "keep")
    stop = threading.Event()

    def flicker() -> None:
        while not stop.is_set():
            folder = write_skill(tmp_path, "flicker/here", {"a/b.md": "x"})
            (folder / "a/b.md").unlink()
            (folder / "a").rmdir()
            (folder / "SKILL.md").unlink()
            folder.rmdir()

    library = Library([FolderSource(tmp_path)])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, flicker)
        for _ in range(100):
            assert "skill://keep/SKILL.md" in (await library.load()).entries
        stop.set()
