"""Several processes push into one registry, and some of them are killed."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from skillwire import Library
from tests.support.peers import PATIENCE, skillwire
from tests.support.registries import check_whole, counts, push_now, revision, source, write_skills

PUSHES = """
import sys
from pathlib import Path
from tests.support.registries import push_now, write_skills
root, registry, name, times = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
for number in range(times):
    write_skills(root, {f"{name}/{name}-skill-{each}": f"{name} {number}" for each in range(5)})
    print(push_now(root, registry).revision, flush=True)
"""


def start(root: Path, registry: Path, name: str, times: int) -> "subprocess.Popen[str]":
    arguments = [str(root / name), str(registry), name, str(times)]
    return subprocess.Popen([sys.executable, "-c", PUSHES, *arguments], stdout=subprocess.PIPE, text=True)


def test_pushes_of_several_processes_get_one_revision_each(tmp_path: Path) -> None:
    registry = tmp_path / "registry.db"
    running = [start(tmp_path, registry, name, 10) for name in ("one", "two", "three")]
    revisions = [line for each in running for line in each.communicate(timeout=PATIENCE * 2)[0].split()]
    assert [each.returncode for each in running] == [0, 0, 0]
    assert sorted(map(int, revisions)) == list(range(1, 31))
    check_whole(registry)
    assert counts(registry)["pointer"] == 15


def test_killed_publisher_leaves_whole_revisions(tmp_path: Path) -> None:
    registry = tmp_path / "registry.db"
    push_now(write_skills(tmp_path / "first", {"first": "one"}), registry)
    chance = random.Random(0)
    acknowledged = 1
    for round_number in range(6):
        process = start(tmp_path, registry, f"round-{round_number}", 1000)
        assert process.stdout is not None
        acknowledged = max(acknowledged, int(process.stdout.readline()))
        time.sleep(chance.random() / 20)  # to kill it in another place each time
        process.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *map(int, process.communicate(timeout=PATIENCE)[0].split())])
        check_whole(registry)
        assert revision(registry) >= acknowledged
    library = Library([source(registry)])
    catalog = anyio.run(library.load)
    assert (catalog.problems, len(catalog.entries)) == ((), 31)
    for uri in catalog.files:
        assert anyio.run(library.read, uri).content
    assert push_now(write_skills(tmp_path / "last", {"last": "one"}), registry).revision == revision(registry)


def test_publisher_waits_for_another_one_and_can_be_cancelled(tmp_path: Path) -> None:
    registry, root = tmp_path / "registry.db", write_skills(tmp_path / "skills", {"refunds": "one"})
    push_now(root, registry)
    holds = "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    holds += "c.execute('BEGIN IMMEDIATE')\nprint('held', flush=True)\nsys.stdin.read()\n"
    with subprocess.Popen(
        [sys.executable, "-c", holds, registry], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        assert anyio.run(source(registry).scan).problems == ()  # readers never wait
        write_skills(root, {"refunds": "two"})
        waiting = subprocess.Popen(
            skillwire("push", root, "--no-config", "--to", f"registry+sqlite://{registry}"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(timeout=2)
        assert revision(registry) == 1
        holder.stdin.close()
        _, err = waiting.communicate(timeout=PATIENCE)
        assert (waiting.returncode, "revision 2" in err) == (0, True)
    check_whole(registry)
