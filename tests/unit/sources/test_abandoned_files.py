"""What a process leaves half written when it is killed is removed by the next one that writes there."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skillwire.core.atomic_write import (
    ABANDONED_SECONDS,
    MOVED_AWAY,
    Hold,
    remove_abandoned,
    replace_file,
    staging_folder,
)
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


def test_a_killed_change_of_the_configuration_is_cleaned_up_by_the_next(tmp_path: Path) -> None:
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


def test_what_is_being_written_is_not_removed(tmp_path: Path) -> None:
    half = tmp_path / ".a.toml.abcdefgh.skillwire-tmp"
    half.touch()
    _grow_old(half)
    held = Hold(half)
    remove_abandoned(tmp_path)
    assert half.exists()
    held.release()
    remove_abandoned(tmp_path)
    assert not half.exists()


def test_a_link_with_such_a_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    link = tmp_path / ".a.toml.abcdefgh.skillwire-tmp"
    link.symlink_to("precious")
    _grow_old(link)
    remove_abandoned(tmp_path)
    assert link.is_symlink()


def test_the_next_scan_that_is_remembered_cleans_up(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    half = cache / ".0123.jsonl.abcdefgh.skillwire-tmp"
    half.touch()
    _grow_old(half)
    ScanCache(cache, tmp_path, Limits()).save({}, {})
    assert [path.suffix for path in cache.iterdir()] == [".jsonl"]


def test_a_killed_pull_is_cleaned_up_unless_it_has_the_only_copy(tmp_path: Path) -> None:
    for name in ("abcdefgh", "ijklmnop"):
        (tmp_path / f".pulling.{name}.skillwire-tmp").mkdir()
    keeping = tmp_path / ".pulling.ijklmnop.skillwire-tmp"
    (keeping / MOVED_AWAY).mkdir()
    for path in tmp_path.iterdir():
        _grow_old(path)
    with staging_folder(tmp_path) as aside:
        assert set(tmp_path.iterdir()) == {aside, keeping}
    assert list(tmp_path.iterdir()) == [keeping]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(tmp_path / "a.toml", b"x")
    assert list(tmp_path.iterdir()) == []
