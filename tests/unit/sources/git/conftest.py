"""A git server on loopback, and a repository on it for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.git_fetchers import made, plain_git
from tests.support.git_server import GitServer, Origin


@pytest.fixture(autouse=True)
def git_as_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_git(monkeypatch)


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    with GitServer(tmp_path_factory.mktemp("origins")) as running:
        yield running


@pytest.fixture
def server(shared_server: GitServer) -> GitServer:
    shared_server.seen.clear()
    return shared_server


@pytest.fixture
def origin(server: GitServer, tmp_path: Path) -> Origin:
    return made(server, tmp_path.name)
