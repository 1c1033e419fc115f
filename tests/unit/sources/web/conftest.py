"""A web site on loopback that publishes skills, and a fetcher for it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest

from skillwire.sources.web.source import WebFetcher
from tests.support.peers import PATIENCE
from tests.support.web_site import PublishingSite


@pytest.fixture
async def bound() -> AsyncIterator[None]:
    """Limit the time of each test."""
    with anyio.fail_after(PATIENCE):
        yield


@pytest.fixture
def site() -> Iterator[PublishingSite]:
    with PublishingSite() as publisher:
        yield publisher


@pytest.fixture
def mirror(site: PublishingSite, tmp_path: Path) -> WebFetcher:
    return WebFetcher(site.origin, tmp_path)
