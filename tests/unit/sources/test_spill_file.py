"""Spilled content comes back unchanged, from the file or from memory."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillwire import FolderSource
from skillwire.errors import SourceError
from skillwire.sources.folder.last_good import SpillFile
from tests.support.skills import write, write_skill


@given(st.lists(st.binary(max_size=200)), st.integers(0, 1000))
def test_spilled_content_comes_back_even_if_file_is_full(contents: list[bytes], most: int) -> None:
    spill_file = SpillFile(most)
    spilled = [spill_file.put(content) for content in contents]
    pairs = zip(spilled, map(len, contents), strict=True)
    assert [spill_file.take(each, length) for each, length in reversed(list(pairs))] == contents[::-1]


def test_many_threads_can_spill_at_once() -> None:
    spill_file = SpillFile()
    contents = [bytes([number % 256]) * (number * 7 % 5000) for number in range(400)]
    with ThreadPoolExecutor(8) as pool:
        spilled = list(pool.map(spill_file.put, contents))
        assert list(pool.map(spill_file.take, spilled, map(len, contents))) == contents


def test_content_stays_in_memory_without_temporary_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", Mock(side_effect=OSError("no room")))
    spill_file = SpillFile()
    assert spill_file.take(spill_file.put(b"content"), 7) == b"content"


def test_lost_content_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryFile(buffering=0) as file:
        monkeypatch.setattr(tempfile, "TemporaryFile", Mock(return_value=file))
        spill_file = SpillFile()
        spilled = spill_file.put(b"content")
        file.truncate(3)
        with pytest.raises(SourceError, match="lost"):
            spill_file.take(spilled, 7)


def test_broken_document_is_served_from_spill_file(tmp_path: Path) -> None:
    one = write_skill(tmp_path, "one")
    good = (one / "SKILL.md").read_bytes()

    async def served() -> bytes:
        source = FolderSource(tmp_path, keep_good=True)
        await source.scan()
        with anyio.fail_after(30):
            async for _ in source.changes():  # by now it has been spilled
                break
        write(one, {"SKILL.md": "broken"})
        (entry,) = (await source.rescan(frozenset({str(one)}))).entries
        return await source.read(entry, entry.files[0])

    assert anyio.run(served) == good
