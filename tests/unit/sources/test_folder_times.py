"""A folder on a file system with unreliable folder times is listed at each scan."""

import os
import stat
from pathlib import Path
from typing import Any

import anyio
import pytest

from skillwire import FolderSource
from skillwire.sources.folder import walk as folder_times
from tests.support.reading import record_reads
from tests.support.skills import write, write_skill


class Frozen:
    """The status of a folder whose times and size never change."""

    def __init__(self, status: os.stat_result) -> None:
        self._status = status

    def __getattr__(self, name: str) -> Any:
        return 1 if name in {"st_mtime_ns", "st_ctime_ns", "st_size"} else getattr(self._status, name)


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a cloud file system that never updates folder times."""
    for name in ("lstat", "fstat"):
        real = getattr(os, name)

        def status(where: Any, real: Any = real) -> Any:
            found = real(where)
            return Frozen(found) if stat.S_ISDIR(found.st_mode) else found

        monkeypatch.setattr(os, name, status)
    monkeypatch.setattr("skillwire.sources.folder.files._SETTLED_AFTER_NS", -1_000_000_000)
    monkeypatch.setattr("skillwire.sources.folder.walk.devices_with_reliable_mtimes", frozenset[int])


@pytest.mark.usefixtures("frozen")
def test_new_file_is_found_without_reliable_folder_times(tmp_path: Path) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    one = write_skill(root, "one", {"refs/a.md": "a"})

    async def paths(source: FolderSource) -> list[str]:
        (entry,) = (await source.scan()).entries
        return [file.path for file in entry.files]

    async def settled() -> FolderSource:
        source = FolderSource(root, digests=cache)
        assert await paths(source) == ["SKILL.md", "refs/a.md"]
        with anyio.fail_after(30):
            async for _ in source.changes():
                break
        return source

    source = anyio.run(settled)
    write(one, {"refs/new.md": "new"})
    for looking in (source, FolderSource(root, digests=cache)):
        with record_reads(root) as found:
            assert anyio.run(paths, looking) == ["SKILL.md", "refs/a.md", "refs/new.md"]
        assert found == {"one/refs/new.md"}


def test_reliable_devices_are_parsed_from_mountinfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    monkeypatch.setattr(folder_times, "_MOUNTS", mounts)
    mounts.write_text(
        "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext4 /dev/root rw,errors=continue\n"
        "37 35 0:43 / /srv/cloud rw - fuse.rclone cloud: rw\n"
        "38 35 0:44 / /srv/with\\040space rw shared:5 shared:6 - tmpfs tmpfs rw\n"
    )
    assert folder_times.devices_with_reliable_mtimes() == {os.makedev(98, 0), os.makedev(0, 44)}


@pytest.mark.parametrize("content", ["odd", "36 35 98 / /", "1 2 x:y / / - ext4 a b"])
def test_unexpected_mountinfo_yields_no_reliable_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    monkeypatch.setattr(folder_times, "_MOUNTS", tmp_path / "mountinfo")
    assert folder_times.devices_with_reliable_mtimes() == frozenset()
    (tmp_path / "mountinfo").write_text(content)
    assert folder_times.devices_with_reliable_mtimes() == frozenset()
