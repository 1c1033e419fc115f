"""Which folders are on file systems that answer without waiting."""

from pathlib import Path

import pytest

from skillwire.sources.folder.mounts import is_local, is_local_in


def table(*mounts: tuple[str, str]) -> bytes:
    """Return a table of mounts: their folders and types."""
    lines = (f"2{n} 1 0:{n} / {at} rw shared:{n} - {kind} source rw\n" for n, (at, kind) in enumerate(mounts))
    return "".join(lines).encode()


ROOT = ("/", "ext4")


@pytest.mark.parametrize(
    ("mounts", "root", "local"),
    [
        ([ROOT], "/srv/skills", True),
        ([ROOT, ("/proc", "proc"), ("/home", "nfs4")], "/srv/skills", True),
        ([ROOT, ("/home", "nfs4")], "/home/me/skills", False),
        ([ROOT, ("/home", "nfs4")], "/home", False),
        ([ROOT, ("/home", "nfs4")], "/homes/skills", True),
        ([ROOT, ("/home", "nfs4"), ("/home/me/disk", "xfs")], "/home/me/disk/skills", True),
        ([ROOT, ("/srv/skills/shared", "cifs")], "/srv/skills", False),
        ([ROOT, ("/srv/skills/shared", "tmpfs")], "/srv/skills", True),
        ([ROOT, ("/srv", "xfs"), ("/srv", "fuse.sshfs")], "/srv/skills", False),
        ([ROOT, ("/srv", "fuse.sshfs"), ("/srv", "xfs")], "/srv/skills", True),
        ([ROOT, (r"/my\040disk", "9p")], "/my disk/skills", False),
        ([ROOT, (r"/a\134b", "9p")], "/a\\b", False),
        ([("/", "nfs")], "/", False),
        ([("/", "unheard-of")], "/", False),
    ],
)
def test_mounts_of_and_below_the_root_count(mounts: list[tuple[str, str]], root: str, local: bool) -> None:  # noqa: FBT001
    assert is_local_in(table(*mounts), root) is local


@pytest.mark.parametrize(
    ("kind", "local"), [("nfs", False), ("fuse.x", False), ("proc", True), ("cgroup2", True), ("btrfs", True)]
)
def test_links_can_lead_to_all_mounts(kind: str, *, local: bool) -> None:
    mounts = table(ROOT, ("/mnt/other", kind))
    assert is_local_in(mounts, "/srv", everywhere=True) is local
    assert is_local_in(mounts, "/srv") is True


@pytest.mark.parametrize("broken", [b"", b"x\n", b"1 2 3 4 - ext4 a b\n", b"1 2 3 4 /\n"])
def test_unusual_table_is_an_error(broken: bytes) -> None:
    with pytest.raises(ValueError, match="mount"):
        is_local_in(broken, "/srv")


def test_unreadable_table_means_not_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for content in (None, b"x\n"):
        if content is not None:
            (tmp_path / "table").write_bytes(content)
        monkeypatch.setattr("skillwire.sources.folder.mounts._TABLE", tmp_path / "table")
        assert is_local(str(tmp_path)) is False
    (tmp_path / "table").write_bytes(table(ROOT))
    assert is_local(str(tmp_path)) is True


def test_systems_without_a_table_count_as_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("skillwire.sources.folder.mounts._TABLE", tmp_path / "none")
    assert is_local(str(tmp_path)) is True
