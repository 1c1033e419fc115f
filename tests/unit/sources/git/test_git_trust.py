"""What a repository, its server and a secret can and cannot do."""

import random
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from skillwire.sources import Rule
from skillwire.sources.git.address import Repository
from skillwire.sources.git.source import GitFetcher
from tests.support.git_fetchers import made, mirror, refused, scanned, skills
from tests.support.git_server import GitServer, Origin

pytestmark = pytest.mark.anyio

TOKEN = "zq-very-secret"
LOGIN = ("x-access-token", TOKEN)


@pytest.fixture
def private_server(tmp_path: Path) -> Iterator[GitServer]:
    with GitServer(tmp_path / "private", login=LOGIN) as running:
        yield running


async def test_private_repository_is_served_without_storing_token(
    private_server: GitServer, tmp_path: Path
) -> None:
    commands: list[str] = []
    private_server.on_request = lambda: commands.extend(
        " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])
    )
    private = made(private_server, "repository")
    cache = tmp_path / "cache"
    given = mirror(private_server, private, cache, token=TOKEN)
    assert await skills(given) == ["first"]
    assert any("remote-http" in command for command in commands)
    assert not any(TOKEN in command for command in commands)
    assert not any(TOKEN.encode() in file.read_bytes() for file in cache.rglob("*") if file.is_file())
    authorization = private_server.seen[0].authorization
    assert authorization is not None
    encoded = authorization.removeprefix("Basic ")
    assert not any(encoded.encode() in file.read_bytes() for file in cache.rglob("*") if file.is_file())
    assert not any(encoded in command for command in commands)
    assert TOKEN not in given.place


async def test_git_traces_never_contain_the_token(
    private_server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_TRACE", "GIT_TRACE_CURL", "GIT_TRACE2_EVENT", "GIT_CURL_VERBOSE"):
        monkeypatch.setenv(name, str(tmp_path / "trace"))
    monkeypatch.setenv("GIT_TRACE_REDACT", "0")
    private = made(private_server, "repository")
    assert await skills(mirror(private_server, private, tmp_path / "cache", token=TOKEN)) == ["first"]
    assert not (tmp_path / "trace").exists()


async def test_token_may_be_in_the_address(private_server: GitServer, tmp_path: Path) -> None:
    made(private_server, "repository")
    address = f"{private_server.url}/repository".replace("http://", f"git+http://{LOGIN[0]}:{TOKEN}@")
    named = GitFetcher(Repository.parse(address), tmp_path / "cache", "of-no-use")
    assert await skills(named) == ["first"]
    assert TOKEN not in named.place


async def test_missing_or_wrong_token_is_reported(private_server: GitServer, tmp_path: Path) -> None:
    private = made(private_server, "repository")
    reason = await refused(mirror(private_server, private, tmp_path / "cache"))
    assert reason.endswith("requires a token: it is private, or does not exist")
    reason = await refused(mirror(private_server, private, tmp_path / "cache", token="zq-wrong-token"))
    assert reason.endswith("does not accept the token; check that it may read this repository")


async def test_token_echoed_by_server_is_redacted(private_server: GitServer, tmp_path: Path) -> None:
    private = made(private_server, "repository")
    private_server.refusal = 403
    reason = await refused(mirror(private_server, private, tmp_path / "cache", token="zq-wrong-token"))
    assert "cannot be fetched: who is Basic …?; " in reason


async def test_token_is_not_sent_unencrypted(tmp_path: Path) -> None:
    clear = GitFetcher(Repository.parse("git+http://host.invalid/x.git"), tmp_path, TOKEN)
    assert "unencrypted; write `https://`" in await refused(clear)


async def test_token_does_not_follow_redirect_to_another_origin(
    server: GitServer, private_server: GitServer, origin: Origin, tmp_path: Path
) -> None:
    private_server.redirect = lambda path: f"{server.url}{path}"
    reason = await refused(mirror(private_server, origin, tmp_path / "cache", token=TOKEN))
    elsewhere = f"git+{server.url}/{origin.folder.name}"
    assert reason.endswith(f"redirects to another host; if you trust it, write `{elsewhere}`")
    assert server.seen == []


async def test_token_follows_redirect_on_the_same_host(private_server: GitServer, tmp_path: Path) -> None:
    made(private_server, "new")
    private_server.redirect = lambda path: path.replace("/old/", "/new/") if "/old/" in path else None
    moved = GitFetcher(Repository.parse(f"git+{private_server.url}/old"), tmp_path / "cache", TOKEN)
    assert await skills(moved) == ["first"]


async def test_endless_redirects_are_source_error(private_server: GitServer, tmp_path: Path) -> None:
    private_server.redirect = lambda path: path.replace("/x", "/xx")
    assert "too many times" in await refused(
        GitFetcher(Repository.parse(f"git+{private_server.url}/x"), tmp_path)
    )


async def test_link_to_local_file_is_not_served(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    (origin.folder / "first" / "passwd").symlink_to("/etc/passwd")
    (origin.folder / "etc").symlink_to("/etc")
    origin.commit({})
    scan = await scanned(mirror(server, origin, tmp_path / "cache"))
    (entry,) = scan.entries
    assert [file.path for file in entry.files] == ["SKILL.md"]
    assert Rule.LINK_OUTSIDE in {problem.rule for problem in (*scan.problems, *entry.problems)}
    assert await refused(mirror(server, origin, tmp_path / "cache", "#etc")) == (
        "`etc` is a link in the repository; name a folder instead"
    )


async def test_no_hook_or_filter_is_ever_run(
    server: GitServer, origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    names = ("post-checkout", "post-index-change", "reference-transaction")
    for name in names:
        (hooks / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (hooks / name).chmod(0o755)
    settings = tmp_path / "gitconfig"
    settings.write_text(
        f'[filter "evil"]\n\tsmudge = touch {ran}\n\trequired = true\n'
        f"[core]\n\thooksPath = {hooks}\n\tfsmonitor = {hooks / names[0]}\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    origin.commit(
        {
            ".gitattributes": "* filter=evil\n*.txt text eol=lf ident\n",
            "hooks/post-checkout": f"#!/bin/sh\ntouch {ran}\n",
            ".githooks/post-checkout": f"#!/bin/sh\ntouch {ran}\n",
        }
    )
    assert await skills(mirror(server, origin, tmp_path / "cache")) == ["first"]
    assert not ran.exists()


@pytest.mark.parametrize(("entries", "max_bytes"), [(5, 1_000_000), (50, 100_000)])
async def test_oversized_repository_is_refused_before_checkout(
    server: GitServer, origin: Origin, tmp_path: Path, entries: int, max_bytes: int
) -> None:
    origin.commit({f"big/{number}.txt": b"x" * 30_000 for number in range(5)})
    reason = await refused(mirror(server, origin, tmp_path / "cache", entries=entries, max_bytes=max_bytes))
    assert "holds 8 files and folders and 150," in reason
    assert not list((tmp_path / "cache").rglob("SKILL.md"))
    smaller = mirror(server, origin, tmp_path / "cache", "#first", entries=entries, max_bytes=max_bytes)
    assert await skills(smaller) == ["first"]


async def test_repository_that_would_trick_git_is_refused(
    server: GitServer, origin: Origin, tmp_path: Path
) -> None:
    origin.commit({".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ../x\n\tupdate = !touch ran\n'})
    reason = await refused(mirror(server, origin, tmp_path / "cache"))
    assert "cannot be fetched: " in reason
    assert "gitmodulesUpdate" in reason


async def test_fetch_that_grows_too_large_is_stopped(tmp_path: Path) -> None:
    with GitServer(tmp_path / "origins") as server:
        origin = made(server, "repository")
        origin.commit({"noise.bin": random.Random(1).randbytes(2_000_000)})
        server.stall.set()  # half of it comes, and no end
        reason = await refused(mirror(server, origin, tmp_path / "cache", max_bytes=500_000))
        assert reason.endswith("is larger than 500,000 bytes")


async def test_endless_ref_listing_is_refused(server: GitServer, origin: Origin, tmp_path: Path) -> None:
    origin.commit({f"{'long' * 60}-{number}.txt": b"x" for number in range(20)})
    reason = await refused(mirror(server, origin, tmp_path / "cache", entries=3))
    assert "holds more than " in reason
