"""Servers that flood: what they send is bounded before it is parsed, and their neighbours are served."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from tests.blackbox.flooding import ATTACKS, LARGE, http_server, program
from tests.blackbox.peers import MODERN, StdioPeer
from tests.blackbox.product import LOAD_TOOL, Person, peak_memory
from tests.blackbox.scripted import Script, Site

MOST = 260
"""MiB of memory that a command may have. Each attack sends, or would become, several times as much."""


@contextmanager
def flooding(name: str) -> Generator[str]:
    """Serve this over HTTP; yield the URL."""
    with http_server(name) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
        thread.join()


@pytest.mark.rule("H25")
@pytest.mark.parametrize("name", ATTACKS)
def test_a_program_that_floods_is_dropped(person: Person, name: str) -> None:
    person.has_servers(hostile=program(name))
    code, memory, said = peak_memory(["list", "hostile"], person)
    assert code == 1
    assert "hostile" in said
    assert len(said) < 5_000
    assert memory < MOST


@pytest.mark.rule("H2", "H25")
@pytest.mark.parametrize("name", LARGE)
def test_an_answer_without_end_over_http_is_left(person: Person, name: str) -> None:
    with flooding(name) as url:
        person.has_servers(hostile=url)
        code, memory, said = peak_memory(["list", "hostile"], person)
    assert code == 1
    assert "hostile" in said
    assert memory < MOST


def test_the_same_server_without_an_attack_is_fine(person: Person) -> None:
    with flooding("honest") as url:
        person.has_servers(web=url, program=program("honest"))
        code, memory, _ = peak_memory(["list", "web", "program"], person)
    assert code == 0
    assert memory < MOST


@pytest.mark.rule("H5", "H25")
def test_a_flood_does_not_keep_neighbours_waiting(person: Person) -> None:
    script = Script()
    script.publish("good")
    with Site(script) as site:
        person.has_servers(honest=site.url, hostile=program("pings"), dead="http://127.0.0.1:1/mcp")
        with StdioPeer(MODERN, person, "bridge", "honest", "hostile", "dead", "--trust", "honest") as peer:
            assert list(peer.skills()) == ["skill://honest/good/SKILL.md"]
            assert peer.tool(LOAD_TOOL, name="honest/good")["isError"] is False
            pages = int(Path(f"/proc/{peer.process.pid}/statm").read_text("utf-8").split()[1])
            assert pages * 4096 >> 20 < MOST
            assert peer.close() == 0
