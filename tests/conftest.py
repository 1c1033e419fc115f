"""Fixtures: one tree of skills, served once for all tests, over every transport and protocol version."""

import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.peers import VERSIONS, HttpPeer, HttpServer, Peer, StdioPeer, skillwire
from tests.support.skills import skill_md, write, write_skill

settings.register_profile("skillwire", deadline=None)  # machines are noisy: no example is timed
settings.load_profile("skillwire")

SLOW = (
    "blackbox/",
    "e2e/",
    "protocol/test_contract_metadata.py",
    "protocol/test_stdio_serving.py",
    "security/",
    "tooling/test_benchmarks.py",
    "tooling/test_clients_runner.py",
    "tooling/test_speed_benchmark.py",
    "unit/app/test_log_limit.py",
    "unit/authoring/test_every_way_to_serve.py",
    "unit/cli/test_install_command.py",
    "unit/cli/test_completion_scripts.py",
    "unit/cli/test_switching_from_skilljack.py",
    "unit/drive/test_hostile.py",
    "unit/host/test_bridge_process.py",
    "unit/host/test_connecting.py",
    "unit/host/test_hostile_traffic.py",
    "unit/host/test_surfaces.py",
    "unit/pages/",
    "unit/registry/test_many_publishers.py",
)
"""Where tests start many processes or browsers. `scripts/test --fast` leaves them out."""
MANY = 230
"""Skills in the folder `many`: three pages."""


def pytest_configure() -> None:
    """Handle Ctrl-C even if the tests run in the background, where shells make programs ignore it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow tests, by their files."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and item.path.relative_to(here).as_posix().startswith(SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def no_configuration_of_ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What whoever runs the tests has decided about their own skills changes nothing, in no process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(scope="session")
def served_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a skill of every kind."""
    root = tmp_path_factory.mktemp("served")
    write_skill(
        root, "acme/billing/refunds", {"references/policy.md": "# Policy\n", "references/empty/": b""}
    )
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
            "ünïcode/naïve.md": "accents\n",
        },
    )
    scalars = "version: 0755\nwhen: 12:30:45\nflag: yes\nday: 2026-01-02\n"
    frontmatter = f"{scalars}nested: {{a: [1, 2.5, null], b: {{c: true}}}}\n"
    write(
        root / "verbatim",
        {"SKILL.md": f"---\nname: verbatim\ndescription: All fields.\n{frontmatter}---\nBody\n"},
    )
    outer = write_skill(root, "outer", {"notes.md": "outer\n"})
    write_skill(outer, "inner", {"help.md": "inner\n"})
    write_skill(root, "twins/one/twin")
    write_skill(root, "twins/two/twin")
    write(root / "reserved", {"SKILL.md": _reserved()})
    for number in range(MANY):
        write_skill(root, f"many/skill-{number:03}")
    write(root / "broken", {"SKILL.md": b"---\nname: Broken Name\ndescription: x\n---\n"})
    return root


def _reserved() -> bytes:
    return b"---\nname: reserved\ndescription: x\nmetadata:\n  io.modelcontextprotocol/future: kept\n---\n"


@pytest.fixture(scope="session")
def http_server(served_tree: Path) -> Iterator[HttpServer]:
    with HttpServer(served_tree, "--http", "0") as server:
        yield server


@pytest.fixture(scope="session")
def peers(served_tree: Path, http_server: HttpServer) -> Iterator[Mapping[tuple[str, str], Peer]]:
    stdio = [StdioPeer(version, skillwire("serve", served_tree)) for version in VERSIONS]
    http = [HttpPeer(version, http_server.url) for version in VERSIONS]
    yield {("stdio", peer.version): peer for peer in stdio} | {("http", peer.version): peer for peer in http}
    for peer in stdio:
        assert peer.close() == 0
    for peer in http:
        peer.close()


@pytest.fixture(
    params=[(transport, version) for transport in ("stdio", "http") for version in VERSIONS], ids="-".join
)
def peer(request: pytest.FixtureRequest, peers: Mapping[tuple[str, str], Peer]) -> Peer:
    """A client on every transport and every protocol version, one after the other."""
    return peers[request.param]


__all__ = ["MANY", "skill_md"]
