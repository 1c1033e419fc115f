"""Tokens and headers over plain `http`: never to another machine, nor to a proxy instead of this machine."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from skillwire import Host, Problem, Target
from skillwire.sources import Rule
from tests.support.peers import skillwire
from tests.support.posting import PostingSite

pytestmark = pytest.mark.anyio
ELSEWHERE = "http://192.0.2.2:18830/mcp"
SECRET = "s3cret-t0ken"


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostingSite]:
    """Everything that leaves this machine: a proxy that sees each request."""
    with PostingSite(status=404) as site:
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, site.url.removesuffix("/mcp"))
        for name in ("no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield site


async def problem_of(target: Target) -> Problem:
    async with Host([target]) as host:
        (problem,) = (await host.discover()).problems
    assert problem.rule is Rule.SOURCE_FAILED
    return problem


@pytest.mark.parametrize("url", [ELSEWHERE, ELSEWHERE.replace("http", "HTTP"), "http://127.1.example/mcp"])
@pytest.mark.parametrize(
    ("token", "headers", "what"),
    [
        (SECRET, {}, "its token"),
        (None, {"Authorization": f"Basic {SECRET}"}, "its header `Authorization`"),
        (None, {"User-Agent": "me", "x-key": "7"}, "its header `x-key`"),
    ],
)
async def test_a_secret_is_refused_before_the_first_request(
    network: PostingSite, url: str, token: str | None, headers: Mapping[str, str], what: str
) -> None:
    problem = await problem_of(Target("a", url=url, token=token, headers=headers))
    assert f"is not contacted: plain `http` would show {what} to everyone" in problem.message
    assert "use `https`" in problem.message
    assert not network.headers


async def test_plain_http_without_secrets_is_allowed(network: PostingSite) -> None:
    await problem_of(Target("a", url=ELSEWHERE, headers={"User-Agent": "me"}))
    assert {each["user-agent"] for each in network.headers} == {"me"}


async def test_a_token_for_this_machine_never_reaches_a_proxy(network: PostingSite) -> None:
    with PostingSite(status=404) as site:
        await problem_of(Target("a", url=site.url, token=SECRET))
    assert {each["authorization"] for each in site.headers} == {f"Bearer {SECRET}"}
    assert not network.headers


@pytest.mark.parametrize("command", ["list", "verify"])
def test_commands_refuse_to_expose_a_token(network: PostingSite, tmp_path: Path, command: str) -> None:
    env = {**os.environ, "OURS": SECRET, "SKILLWIRE_STATE_DIR": str(tmp_path / "state")}
    done = subprocess.run(
        skillwire(command, ELSEWHERE, "--token-env", "OURS"), capture_output=True, env=env, check=False
    )
    assert done.returncode != 0
    assert b"plain `http` would show its token" in done.stderr + done.stdout
    assert b"`ssh -L`" in done.stderr + done.stdout
    assert not network.headers
