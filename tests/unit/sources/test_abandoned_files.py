"""Files that a killed process left half written are removed by the next process that writes there."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skillwire.core.atomic_write import (
    ABANDONED_SECONDS,
    MOVED_ASIDE_NAME,
    remove_abandoned,
    remove_folder,
    replace_file,
    staged_file,
    staging_folder,
)
from skillwire.core.file_lock import FileLock, mark_in_use
from skillwire.sources import Limits
from skillwire.sources.folder.scan_cache import ScanCache

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no process can be killed like that there")

_KILLED = """
import os, signal, sys
from pathlib import Path
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from skillwire.__main__ import main
sys.argv = ["skillwire", *sys.argv[1:]]
main()
"""


def _run(*arguments: str | Path, killed: bool = False) -> int:
    start = ["-c", _KILLED] if killed else ["-m", "skillwire"]
    command = [sys.executable, *start, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode


def _grow_old(path: Path) -> None:
    long_ago = path.stat().st_mtime - ABANDONED_SECONDS - 1
    os.utime(path, (long_ago, long_ago))


def _left(folder: Path) -> list[Path]:
    return list(folder.glob(".*.skillwire-tmp"))


def test_next_config_change_removes_leftovers_of_killed_one(tmp_path: Path) -> None:
    config = tmp_path / "config" / "skillwire.toml"
    others = [
        config.parent / name for name in (".skillwire.toml.original", ".other.toml.abcdefgh.skillwire-tmp")
    ]
    (tmp_path / "one").mkdir()
    arguments = ("sources", "add", tmp_path / "one", "--config", config)
    assert _run(*arguments, killed=True) == -signal.SIGKILL
    (half,) = _left(config.parent)
    for other in others:
        other.touch()
        _grow_old(other)
    assert _run(*arguments) == 0
    assert not half.exists()
    assert all(other.exists() for other in others)


def test_files_being_written_are_not_removed(tmp_path: Path) -> None:
    half = tmp_path / ".a.toml.abcdefgh.skillwire-tmp"
    half.touch()
    _grow_old(half)
    in_use = mark_in_use(half)
    assert in_use is not None
    remove_abandoned(tmp_path)
    assert half.exists()
    in_use.release()
    remove_abandoned(tmp_path)
    assert not half.exists()


def test_symlink_with_temporary_name_is_not_removed(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    link = tmp_path / ".a.toml.abcdefgh.skillwire-tmp"
    link.symlink_to("precious")
    _grow_old(link)
    remove_abandoned(tmp_path)
    assert link.is_symlink()


def test_saving_scan_cache_removes_leftovers(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    half = cache / ".0123.jsonl.abcdefgh.skillwire-tmp"
    half.touch()
    _grow_old(half)
    ScanCache(cache, tmp_path, Limits()).save({}, {})
    assert [path.suffix for path in cache.iterdir()] == [".jsonl"]


def test_leftovers_of_killed_pull_are_removed_unless_only_copy(tmp_path: Path) -> None:
    for name in ("abcdefgh", "ijklmnop"):
        (tmp_path / f".pulling.{name}.skillwire-tmp").mkdir()
    keeping = tmp_path / ".pulling.ijklmnop.skillwire-tmp"
    (keeping / MOVED_ASIDE_NAME).mkdir()
    for path in tmp_path.iterdir():
        _grow_old(path)
    with staging_folder(tmp_path) as aside:
        assert set(tmp_path.iterdir()) == {aside, keeping}
    assert list(tmp_path.iterdir()) == [keeping]


def test_failed_write_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(tmp_path / "a.toml", b"x")
    assert list(tmp_path.iterdir()) == []


def test_exclusive_lock_blocks_others_until_released(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock", create=True) as first, FileLock(tmp_path / "lock") as second:
        assert first.try_lock()
        assert not second.try_lock(shared=True)
        assert not second.lock(seconds=0)
        first.release()
        assert second.lock(seconds=0)


def test_shared_lock_admits_other_shared_locks(tmp_path: Path) -> None:
    with FileLock(tmp_path) as first, FileLock(tmp_path) as second, FileLock(tmp_path) as third:
        assert first.try_lock(shared=True)
        assert second.try_lock(shared=True)
        assert not third.try_lock()


@pytest.mark.anyio
async def test_waiting_for_lock_times_out(tmp_path: Path) -> None:
    with FileLock(tmp_path) as first, FileLock(tmp_path) as second:
        assert first.try_lock()
        assert not await second.acquire(seconds=0.05)
        first.release()
        assert await second.acquire(seconds=5)


def test_without_lock_support_the_caller_chooses_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with FileLock(tmp_path) as lock:
        assert lock.try_lock()
        assert not lock.try_lock(without_locks=False)


def test_staged_file_that_is_not_renamed_is_removed(tmp_path: Path) -> None:
    with staged_file(tmp_path / "a", b"new", private=True) as staged:
        assert staged.read_bytes() == b"new"
        assert staged.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == []


def test_folder_is_removed_completely_or_renamed_first(tmp_path: Path) -> None:
    (tmp_path / "copy/deep").mkdir(parents=True)
    remove_folder(tmp_path / "copy")
    remove_folder(tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []
