"""Fixtures: one tree of skills, served once for all tests of a worker, over every transport and version."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.blackbox.peers import VERSIONS, HttpPeer, Peer, StdioPeer
from tests.blackbox.product import NO_CONFIG, HttpService, Person
from tests.blackbox.skills import skill_md, write, write_skill

MANY = 120
"""Skills in the folder `many`: more than a page holds."""


@pytest.fixture(scope="session")
def somebody(tmp_path_factory: pytest.TempPathFactory) -> Person:
    """A user that tests share if they leave nothing behind."""
    return Person(tmp_path_factory.mktemp("somebody"))


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path / "person")


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a skill of every kind."""
    root = tmp_path_factory.mktemp("tree")
    policy: dict[str, bytes | str] = {"references/policy.md": "# Policy\n", "references/empty/": b""}
    write_skill(root, "acme/billing/refunds", policy)
    write(
        root / "bytes",
        {
            "SKILL.md": b"\xef\xbb\xbf---\r\nname: bytes\r\ndescription: All.\r\n---\r\n\r\n# Bytes\r\n",
            "data/blob.bin": bytes(range(256)),
            "data/empty.txt": b"",
            "data/latin1.txt": "caf\xe9\n".encode("latin-1"),
            "data/zero.txt": b"a\0b",
            "data/text": "plain, without a suffix\n",
            "scripts/run.ts": "export {}\n",
            "with space & 100%.md": "percent\n",
            "\xfcn\xefcode/na\xefve.md": "accents\n",
        },
    )
    scalars = "version: 0755\nwhen: 12:30:45\nflag: yes\nday: 2026-01-02\nempty:\nratio: 2.5\n"
    nested = "nested: {a: [1, 2.5, null], b: {c: true}}\n"
    write(root / "verbatim", {"SKILL.md": skill_md("verbatim", f"{scalars}{nested}")})
    outer = write_skill(root, "outer", {"notes.md": "outer\n"})
    write_skill(outer, "inner", {"help.md": "inner\n"})
    write_skill(root, "twins/one/twin")
    write_skill(root, "twins/two/twin")
    reserved = "metadata:\n  io.modelcontextprotocol/future: kept\n  owner: me\n"
    write(root / "reserved", {"SKILL.md": skill_md("reserved", reserved)})
    for number in range(MANY):
        write_skill(root, f"many/skill-{number:03}")
    write(root / "broken", {"SKILL.md": b"---\nname: Broken Name\ndescription: x\n---\n"})
    return root


@pytest.fixture(scope="session")
def service(tree: Path, somebody: Person) -> Iterator[HttpService]:
    with HttpService(somebody, tree, NO_CONFIG, "--http", "0") as service:
        yield service


@pytest.fixture(scope="session")
def peers(tree: Path, somebody: Person, service: HttpService) -> Iterator[Mapping[tuple[str, str], Peer]]:
    """A client on every transport and every version. A server on pipes starts when it is first used."""
    started: list[Peer] = []

    class Started(dict[tuple[str, str], Peer]):
        def __missing__(self, key: tuple[str, str]) -> Peer:
            transport, version = key
            peer: Peer = (
                StdioPeer(version, somebody, "serve", tree, NO_CONFIG)
                if transport == "stdio"
                else HttpPeer(version, service.url)
            )
            started.append(peer)
            self[key] = peer
            return peer

    yield Started()
    assert [peer.close() for peer in started] == [0] * len(started)


@pytest.fixture(
    params=[(transport, version) for transport in ("stdio", "http") for version in VERSIONS], ids="-".join
)
def peer(request: pytest.FixtureRequest, peers: Mapping[tuple[str, str], Peer]) -> Peer:
    return peers[request.param]
