"""Serving a repository in a line, and asking what is served of it."""

from pathlib import Path

import anyio
import pytest

from skillwire.errors import SourceError
from skillwire.sources import FetchedSource, Limits, Scan
from skillwire.sources.git.address import Repository
from skillwire.sources.git.source import MAX_BYTES, GitFetcher
from tests.support.git_server import GitServer, Origin
from tests.support.peers import PATIENCE
from tests.support.scans import uris
from tests.support.skills import skill_md


def plain_git(patch: pytest.MonkeyPatch) -> None:
    """Let git be as it was installed, whatever is configured on this machine."""
    patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    patch.setenv("NO_PROXY", "127.0.0.1")


def skill(name: str) -> dict[str, bytes | str]:
    """Return the files of a skill, to be committed."""
    return {f"{name}/SKILL.md": skill_md(name)}


def made(server: GitServer, name: str) -> Origin:
    """Return a new repository with the skill `first`."""
    origin = Origin(server.root / name)
    origin.commit(skill("first"))
    return origin


def mirror(
    server: GitServer,
    origin: Origin,
    cache: Path,
    rest: str = "",
    *,
    token: str | None = None,
    entries: int = Limits().entries,
    max_bytes: int = MAX_BYTES,
) -> GitFetcher:
    """Return a fetcher of a repository. `rest` is appended to its URL."""
    repository = Repository.parse(f"git+{server.url}/{origin.folder.name}{rest}")
    return GitFetcher(repository, cache, token, limits=Limits(entries=entries), max_bytes=max_bytes)


async def scanned(served: GitFetcher) -> Scan:
    """Return what a server that starts now finds."""
    with anyio.fail_after(PATIENCE):
        return await FetchedSource(served, label="x").scan()


async def skills(served: GitFetcher) -> list[str]:
    return uris(await scanned(served))


async def refused(served: GitFetcher) -> str:
    """Return why nothing is served."""
    with pytest.raises(SourceError) as caught:
        await scanned(served)
    return str(caught.value)
