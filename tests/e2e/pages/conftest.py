"""One browser and one server for all tests of a module."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.support.browser import launch_browser
from tests.support.demo_skills import write_demo
from tests.support.peers import HttpServer


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for a module, because the browser lives in it."""
    return "asyncio"


@pytest.fixture(scope="module")
async def browser(anyio_backend: str) -> AsyncGenerator[Browser]:
    async with launch_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the folders of a server are, and its configuration."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[HttpServer]:
    """A server that may be steered."""
    folder = write_demo(home / "team-skills")
    with HttpServer(folder, "--http", "0", "--allow-config", "--config", home / "config.toml") as server:
        yield server
