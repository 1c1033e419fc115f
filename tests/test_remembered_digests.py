"""Digests that are kept on disk: a start reads only what changed, and believes nothing blindly."""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from skillwire.catalog.library import Library
from skillwire.sources.base import Scan
from skillwire.sources.directory import DirectorySource
from tests.support.skills import skill_md, write, write_skill

SECOND = 1_000_000_000

_opened: list[str] | None = None


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and _opened is not None and isinstance(arguments[0], str):
        _opened.append(arguments[0])


sys.addaudithook(_audit)


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as settled at once, so that no test has to wait for it."""
    monkeypatch.setattr("skillwire.sources.folder.stamp._SETTLED_AFTER_NS", -SECOND)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "skills"
    write_skill(root, "one", {"a.md": "a", "blob.bin": bytes(range(256))})
    write(root / "odd", {"SKILL.md": "---\nname: odd\ndescription: x\nlist: [1, 2.5, null]\n---\nBody\n"})
    write(root / "warned", {"SKILL.md": skill_md("other")})
    return root


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def start(tree: Path, cache: Path, *, keep_good: bool = False) -> tuple[DirectorySource, Scan]:
    """Scan as a new process would."""
    source = DirectorySource(tree, keep_good=keep_good, digests=cache)
    return source, anyio.run(source.scan)


def run_until_settled(source: DirectorySource) -> None:
    """Follow a source for as long as it takes to write down what is known."""

    async def noticed() -> None:
        with anyio.fail_after(30):
            async for _ in source.changes():  # the first is told when everything else is done
                return

    anyio.run(noticed)


def read_in(action: Callable[[], object], root: Path) -> set[str]:
    """Return the files below `root` that were opened meanwhile."""
    global _opened  # noqa: PLW0603 - an audit hook cannot be taken away again
    _opened = []
    action()
    found, _opened = _opened, None
    inside = (path for path in found if path.startswith(str(root)) and not Path(path).is_dir())
    return {os.path.relpath(path, root) for path in inside}


def the_file(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def lines_of(cache: Path) -> list[list[Any]]:
    return [json.loads(line) for line in the_file(cache).read_text().splitlines()]


def write_lines(cache: Path, lines: list[list[Any]]) -> None:
    the_file(cache).write_text("".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.fixture
def remembered(tree: Path, cache: Path) -> Scan:
    """What the first start found, and wrote down."""
    source, first = start(tree, cache)
    run_until_settled(source)
    return first


def test_a_second_start_reads_only_what_has_changed(tree: Path, cache: Path, remembered: Scan) -> None:
    found: list[Scan] = []
    assert read_in(lambda: found.append(start(tree, cache)[1]), tree) == {"warned/SKILL.md"}
    assert found == [remembered]
    (tree / "one" / "a.md").write_text("other")
    assert read_in(lambda: start(tree, cache), tree) == {"warned/SKILL.md", "one/a.md"}


def test_the_file_is_only_for_its_owner(cache: Path, remembered: Scan) -> None:
    assert remembered.entries
    assert the_file(cache).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"[]", b"null", b'["another", "/"]\n', b"\xff" * 100],
    ids=["empty", "cut", "list", "null", "another form", "no text"],
)
def test_a_file_that_is_broken_is_as_good_as_none(
    tree: Path, cache: Path, remembered: Scan, broken: bytes
) -> None:
    the_file(cache).write_bytes(broken)
    assert start(tree, cache)[1] == remembered


def test_a_file_that_was_cut_is_as_good_as_none(tree: Path, cache: Path, remembered: Scan) -> None:
    whole = the_file(cache).read_bytes()
    the_file(cache).write_bytes(whole[: len(whole) // 2])
    assert start(tree, cache)[1] == remembered


@pytest.mark.parametrize("place", range(9))
@pytest.mark.parametrize("wrong", [None, [], {}, -1, "x"], ids=str)
def test_an_entry_of_any_shape_does_no_harm(
    tree: Path, cache: Path, remembered: Scan, place: int, wrong: object
) -> None:
    head, first, *others = lines_of(cache)
    write_lines(cache, [head, [*first[:place], wrong, *first[place + 1 :]], *others])
    scan = start(tree, cache)[1]
    assert {entry.uri for entry in scan.entries} == {entry.uri for entry in remembered.entries}


def test_a_digest_that_is_wrong_is_found_out_by_the_first_read(
    tree: Path, cache: Path, remembered: Scan
) -> None:
    assert remembered.entries
    lines = lines_of(cache)
    (entry,) = (each for each in lines if each[0] == "one/a.md")
    entry[6] = "sha256:" + "0" * 64
    write_lines(cache, lines)

    async def read() -> tuple[bytes, str]:
        library = Library([DirectorySource(tree, digests=cache)])
        await library.load()
        reading = await library.read("skill://one/a.md")
        listed = {file.path: file for file in library.catalog.skill("skill://one/SKILL.md").files}
        digest = getattr(listed["a.md"], "digest", None)
        return reading.content, str(digest)

    content, digest = anyio.run(read)
    assert (content, digest) == (b"a", "sha256:" + hashlib.sha256(b"a").hexdigest())


def test_a_cache_that_cannot_be_written_stops_nothing(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    source, scan = start(tree, tmp_path / "cache")
    run_until_settled(source)
    assert {entry.name for entry in scan.entries} == {"one", "odd", "other"}


def test_a_skill_known_from_before_that_an_edit_breaks_is_served_as_it_was(tree: Path, cache: Path) -> None:
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
