"""Registries for tests: create one in a file, and push folders into it."""

import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import anyio

from skillwire import FolderSource, Library
from skillwire.registry.address import RegistryAddress
from skillwire.registry.open import open_store
from skillwire.registry.publication import Published, Publisher
from skillwire.registry.push import prepare, publish
from skillwire.registry.source import RegistrySource
from skillwire.registry.store import Store
from tests.support.skills import skill_md, write

PUBLISHER = Publisher("tester", {"source": "./skills"})


def address(path: Path, channel: str = "stable") -> RegistryAddress:
    return RegistryAddress(path, channel)


def store(path: Path) -> Store:
    return open_store(address(path))


def source(path: Path, channel: str = "stable", *, every: float = 0.01) -> RegistrySource:
    return RegistrySource(str(address(path, channel)), every=every)


async def push(
    root: Path, registry: Path, version: str | None = None, *, channel: str = "stable"
) -> Published:
    """Push a folder. Create the registry if it is not there. All skills in the folder must be good."""
    library = Library([FolderSource(root)])
    await library.load()
    prepared = prepare(library, version)
    assert prepared.refused == ()
    opened = store(registry)
    await opened.create()
    return await publish(library, prepared.releases, opened, channel=channel, publisher=PUBLISHER)


def push_now(root: Path, registry: Path, version: str | None = None, *, channel: str = "stable") -> Published:
    """Push a folder from a test that is not asynchronous."""

    async def run() -> Published:
        return await push(root, registry, version, channel=channel)

    return anyio.run(run)


def write_skills(root: Path, bodies: Mapping[str, str]) -> Path:
    """Write a skill with this body at each path."""
    for path, body in bodies.items():
        write(root / path, {"SKILL.md": skill_md(path.rpartition("/")[2], body=f"{body}\n")})
    return root


@contextmanager
def sql(registry: Path) -> Generator[sqlite3.Connection]:
    """Yield a connection to the database, to look into it or to damage it."""
    with closing(sqlite3.connect(registry)) as connection, connection:
        yield connection


def counts(registry: Path) -> dict[str, int]:
    """Return the number of rows in each table."""
    tables = ("skill", "version", "blob", "version_blob", "pointer", "change", "audit")
    with sql(registry) as connection:
        return {each: connection.execute(f"SELECT count(*) FROM {each}").fetchone()[0] for each in tables}


def revision(registry: Path) -> int:
    with sql(registry) as connection:
        return connection.execute("SELECT revision FROM catalogue").fetchone()[0]


def check_whole(registry: Path) -> None:
    """Assert that nothing in the registry is dangling, and that its revisions have no gap."""
    with sql(registry) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        unused = "SELECT count(*) FROM blob WHERE digest NOT IN (SELECT digest FROM version_blob)"
        assert connection.execute(unused).fetchone() == (0,)
        found = [
            number for (number,) in connection.execute("SELECT DISTINCT revision FROM change ORDER BY 1")
        ]
        audited = [number for (number,) in connection.execute("SELECT revision FROM audit ORDER BY 1")]
        (last,) = connection.execute("SELECT revision FROM catalogue").fetchone()
        assert found == audited == list(range(1, last + 1))
