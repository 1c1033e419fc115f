"""Failures while fetching a repository, and what is served despite them."""

import sys
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest

from skillwire.sources import Rule
from tests.support.git_fetchers import made, mirror, refused, scanned, skill, skills
from tests.support.git_server import GitServer, Origin
from tests.support.peers import PATIENCE
from tests.support.scans import uris
from tests.support.skills import tree_stamps, write

pytestmark = pytest.mark.anyio


async def test_two_processes_share_a_cache(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    script = (
        "import anyio, sys; from pathlib import Path; from skillwire.sources.git.source import GitFetcher\n"
        "from skillwire.sources.git.address import Repository\n"
        "print(anyio.run(GitFetcher(Repository.parse(sys.argv[1]), Path(sys.argv[2])).fetch).root.is_dir())"
    )
    place = f"git+{server.url}/{origin.folder.name}"
    command = [sys.executable, "-c", script, place, str(tmp_path / "cache")]
    printed: list[bytes] = []

    async def run() -> None:
        printed.append((await anyio.run_process(command)).stdout)

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            tasks.start_soon(run)
    assert printed == [b"True\n", b"True\n"]
    assert server.fetches == 1


async def test_start_without_network_serves_last_good_snapshot_with_problem(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await skills(mirror(server, origin, tmp_path / "cache")) == ["first"]
    monkeypatch.setattr(server, "offline", True)
    scan = await scanned(mirror(server, origin, tmp_path / "cache"))
    assert uris(scan) == ["first"]
    assert [problem.rule for problem in scan.problems] == [Rule.SOURCE_STALE]


async def test_first_start_without_network_is_source_error(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "offline", True)
    unreachable = mirror(server, origin, tmp_path / "cache")
    assert unreachable.last() is None
    reason = await refused(unreachable)
    assert reason.startswith(f"`{server.url}/{origin.folder.name}` cannot be fetched: ")


async def test_cancelled_fetch_leaves_no_process_and_usable_cache(tmp_path: Path) -> None:
    with GitServer(tmp_path / "origins") as server:
        cancelled = mirror(server, made(server, "repository"), tmp_path / "cache")
        server.stall.set()
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cancelled.fetch)
                assert await anyio.to_thread.run_sync(server.stalled.wait, PATIENCE)
                tasks.cancel_scope.cancel()
        children = (child.name() for child in psutil.Process().children(recursive=True))
        assert [name for name in children if "git" in name] == []
        assert cancelled.last() is None
        server.stall.clear()
        assert await skills(cancelled) == ["first"]


async def test_server_that_stops_answering_times_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillwire.sources.git.remote.FETCH_SECONDS", 0.2)
    with GitServer(tmp_path / "origins") as server:
        server.stall.set()
        stalled = mirror(server, made(server, "repository"), tmp_path / "cache")
        assert (await refused(stalled)).endswith("did not answer within 0.2 seconds")


async def test_damaged_clone_is_recreated(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    followed = mirror(server, origin, tmp_path / "cache")
    assert await skills(followed) == ["first"]
    (clone,) = (tmp_path / "cache").rglob("clone.git")
    for pack in clone.rglob("*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(b"PACK")
    (clone / "shallow.lock").touch()
    origin.commit(skill("second"))
    assert await skills(followed) == ["first", "second"]


async def test_invalid_record_is_ignored(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    asked = mirror(server, origin, tmp_path / "cache")
    assert await skills(asked) == ["first"]
    (record,) = (tmp_path / "cache").rglob("last-*.json")
    for content in ("", "[]", '{"commit": "../../etc"}', record.read_text().replace(': "', ': "../')):
        record.write_text(content)
        assert asked.last() is None
    assert await skills(asked) == ["first"]


async def test_other_running_git_operation_is_not_disturbed(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = made(server, f"{tmp_path.name}-elsewhere")
    before = tree_stamps(elsewhere.folder)
    monkeypatch.setenv("GIT_DIR", str(elsewhere.folder / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(elsewhere.folder))
    monkeypatch.setenv("GIT_INDEX_FILE", str(elsewhere.folder / ".git/index"))
    monkeypatch.chdir(elsewhere.folder)
    assert await skills(mirror(server, origin, tmp_path / "cache")) == ["first"]
    assert tree_stamps(elsewhere.folder) == before


async def test_missing_git_reports_what_to_install(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    reason = await refused(mirror(server, origin, tmp_path / "cache"))
    assert reason.startswith("`git` cannot be started: ")
    assert "install git" in reason


async def test_old_git_reports_what_to_install(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write(tmp_path / "bin", {"git": "#!/bin/sh\necho git version 2.25.1\n"})
    (old / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(old), prepend=":")
    reason = await refused(mirror(server, origin, tmp_path / "cache"))
    assert reason == "git 2.25 is too old; install git 2.32 or newer"


async def test_unwritable_cache_is_source_error(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    reason = await refused(mirror(server, origin, tmp_path / "cache"))
    assert reason == "the cache folder cannot be written: not a directory"
