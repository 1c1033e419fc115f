"""Skills from git repositories, fetched by a real git from a real server."""

from pathlib import Path

import anyio
import pytest

from skillwire.sources import Rule, Snapshot
from skillwire.sources.git.address import Repository
from skillwire.sources.git.source import GitFetcher
from tests.support.git_fetchers import made, mirror, refused, scanned, skill, skills
from tests.support.git_server import GitServer, Origin
from tests.support.peers import PATIENCE
from tests.support.scans import uris
from tests.support.skills import skill_md, write

pytestmark = pytest.mark.anyio


async def test_default_branch_is_served(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    assert await skills(mirror(server, origin, tmp_path / "cache")) == ["first"]


async def test_branch_is_served_and_followed(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    origin.git("checkout", "--quiet", "-b", "feature/new")
    origin.commit(skill("second"))
    followed = mirror(server, origin, tmp_path / "cache", "@feature/new")
    assert await skills(followed) == ["first", "second"]
    assert await skills(mirror(server, origin, tmp_path / "cache", "@main")) == ["first"]
    origin.commit(skill("third"))
    assert await skills(followed) == ["first", "second", "third"]


@pytest.mark.parametrize("options", [(), ("--annotate", "--message=x")])
async def test_tag_is_served(
    server: GitServer, origin: Origin, tmp_path: Path, options: tuple[str, ...]
) -> None:
    commit = origin.git("rev-parse", "HEAD")
    origin.git("tag", *options, "v1")
    origin.commit(skill("second"))
    tagged = mirror(server, origin, tmp_path / "cache", "@v1")
    assert await skills(tagged) == ["first"]
    assert (await tagged.fetch()).version == commit


async def test_pinned_commit_stays_when_its_branch_moves(
    server: GitServer, origin: Origin, tmp_path: Path
) -> None:
    pin = origin.git("rev-parse", "HEAD")
    pinned = mirror(server, origin, tmp_path / "cache", f"@{pin}")
    assert await skills(pinned) == ["first"]
    origin.commit(skill("second"))
    server.seen.clear()
    assert await skills(pinned) == ["first"]
    assert await skills(mirror(server, origin, tmp_path / "cache", f"@{pin}")) == ["first"]
    assert server.seen == []


@pytest.mark.parametrize("protocol", ["old", "new"])
async def test_pinned_commit_without_branch_is_found(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    pin = origin.git("rev-parse", "HEAD")
    origin.commit(skill("second"))
    origin.commit(skill("third"))
    monkeypatch.setattr(server, "old_protocol", protocol == "old")
    pinned = mirror(server, origin, tmp_path / "cache", f"@{pin}")
    assert await skills(pinned) == ["first"]
    assert (await pinned.fetch()).version == pin


@pytest.mark.parametrize("protocol", ["old", "new"])
async def test_missing_pinned_commit_is_never_replaced_by_another(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setattr(server, "old_protocol", protocol == "old")
    reason = await refused(mirror(server, origin, tmp_path / "cache", f"@{'1' * 40}"))
    assert reason.endswith(f"has no branch, tag or commit `{'1' * 40}`")


async def test_hash_of_tag_object_is_not_a_commit(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    origin.git("tag", "--annotate", "--message=x", "v1")
    tag = origin.git("rev-parse", "v1")
    assert "has no branch, tag or commit" in await refused(mirror(server, origin, tmp_path / "c", f"@{tag}"))


async def test_rewritten_branch_is_followed(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    followed = mirror(server, origin, tmp_path / "cache", "@main")
    assert await skills(followed) == ["first"]
    origin.git("mv", "first", "other")
    rewritten = origin.commit(skill("other"), amend=True)
    assert await skills(followed) == ["other"]
    assert (await followed.fetch()).version == rewritten


async def test_two_folders_of_one_repository_share_one_clone(
    server: GitServer, origin: Origin, tmp_path: Path
) -> None:
    origin.commit({"a/one/SKILL.md": skill_md("one"), "b/two/SKILL.md": skill_md("two")})
    found: dict[str, list[str]] = {}

    async def serve(path: str) -> None:
        found[path] = await skills(mirror(server, origin, tmp_path / "cache", f"#{path}"))

    async with anyio.create_task_group() as tasks:
        for path in ("a", "b", "first"):
            tasks.start_soon(serve, path)
    assert found == {"a": ["one"], "b": ["two"], "first": ["first"]}
    assert len(list((tmp_path / "cache").rglob("clone.git"))) == 1
    assert server.fetches == 1


async def test_unchanged_remote_returns_same_snapshot(
    server: GitServer, origin: Origin, tmp_path: Path
) -> None:
    asked = mirror(server, origin, tmp_path / "cache")
    with anyio.fail_after(PATIENCE):
        copy = await asked.fetch()
        assert await asked.fetch() is copy
        assert asked.last() is copy
        assert await mirror(server, origin, tmp_path / "cache").fetch() == copy
    assert server.fetches == 1


async def test_previous_snapshot_stays_and_older_ones_are_removed(
    server: GitServer, origin: Origin, tmp_path: Path
) -> None:
    followed = mirror(server, origin, tmp_path / "cache")
    copies: list[Snapshot] = []
    for number in range(4):
        origin.commit(skill(f"skill-{number}"))
        with anyio.fail_after(PATIENCE):
            copies.append(await followed.fetch())
    assert [copy.root.exists() for copy in copies] == [False, False, True, True]


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        ("@v9", "has no branch, tag or commit `v9`"),
        ("@abcdef1", "has no branch, tag or commit `abcdef1`; write the full hash of a commit"),
        ("#nowhere", "the repository has no folder `nowhere`"),
        ("#first/SKILL.md", "`first/SKILL.md` is a file in the repository"),
        ("#first/*", "the repository has no folder `first/*`"),
    ],
)
async def test_missing_ref_or_folder_is_named_in_error(
    server: GitServer, origin: Origin, tmp_path: Path, rest: str, reason: str
) -> None:
    assert reason in await refused(mirror(server, origin, tmp_path / "cache", rest))


async def test_missing_repository_is_source_error(server: GitServer, tmp_path: Path) -> None:
    missing = GitFetcher(Repository.parse(f"git+{server.url}/nothing.git"), tmp_path)
    assert await refused(missing) == (f"`{server.url}/nothing.git` does not exist, or requires a token")


async def test_repository_without_commits_is_source_error(server: GitServer, tmp_path: Path) -> None:
    empty = Origin(server.root / f"{tmp_path.name}-empty")
    assert "has no default branch" in await refused(mirror(server, empty, tmp_path / "cache"))


async def test_submodule_is_left_out_and_reported(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    origin.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},first/vendored")
    origin.git("commit", "--quiet", "--message=x")
    scan = await scanned(mirror(server, origin, tmp_path / "cache"))
    assert [(problem.path, problem.rule) for problem in scan.problems] == [
        ("first/vendored", Rule.SOURCE_PARTIAL)
    ]
    assert uris(scan) == ["first"]


async def test_sha256_repository_is_served(server: GitServer, tmp_path: Path) -> None:
    origin = Origin(server.root / f"{tmp_path.name}-sha256", object_format="sha256")
    pin = origin.commit(skill("first"))
    assert len(pin) == 64
    assert await skills(mirror(server, origin, tmp_path / "one")) == ["first"]
    assert await skills(mirror(server, origin, tmp_path / "two", f"@{pin}")) == ["first"]


async def test_short_address_reaches_github(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = tmp_path.name.replace("_", "-")
    made(server, f"{acme}/skills.git")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{server.url}/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/")
    reached = GitFetcher(Repository.parse(f"github:{acme}/skills/first"), tmp_path / "cache", "zq-token")
    assert await skills(reached) == ["first"]
    assert {seen.path.rpartition(".git")[0] for seen in server.seen} == {f"/{acme}/skills"}
    assert {seen.authorization for seen in server.seen} == {None}  # the token is for github.com alone


async def test_repository_is_served_over_ssh_without_prompts(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    script = f'#!/bin/sh\necho "$@" >> {told}\nfor last; do :; done\neval "exec $last"\n'
    programs = write(tmp_path / "bin", {"ssh": script})
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    address = f"git+ssh://git@host.invalid{origin.folder}@main#first"
    assert await skills(GitFetcher(Repository.parse(address), tmp_path / "cache")) == ["first"]
    assert all("-oBatchMode=yes" in line for line in told.read_text().splitlines())


async def test_local_repository_is_served(origin: Origin, tmp_path: Path) -> None:
    local = GitFetcher(Repository.parse(f"git+file://{origin.folder}"), tmp_path / "cache")
    assert await skills(local) == ["first"]
