"""A program that uses Skillwire keeps its process as it was: loggers, signals, limits, collector, threads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.peers import PATIENCE
from tests.support.posting import PostingSite
from tests.support.skills import write_skill

WATCH = """
import gc, logging, resource, signal, sys, threading
from pathlib import Path

def state():
    loggers = {name: (each.propagate, each.level, [type(h).__name__ for h in each.handlers], each.disabled)
        for name, each in logging.root.manager.loggerDict.items() if isinstance(each, logging.Logger)}
    changed = {name: each for name, each in loggers.items() if each != (True, 0, [], False)}
    return {
        "loggers": changed,
        "root": (logging.root.level, [type(h).__name__ for h in logging.root.handlers]),
        "switch": sys.getswitchinterval(),
        "collector": (gc.isenabled(), gc.get_freeze_count(), gc.get_threshold()),
        "signals": {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)},
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
    }

def compare(before, when):
    now = state()
    for key, value in before.items():
        assert now[key] == value, (when, key, value, now[key])

resource.setrlimit(resource.RLIMIT_NOFILE, (512, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
import fastmcp, mcp.client, mcp.server.mcpserver, uvicorn, httpx2, anyio  # their effects are not ours
folder = Path(sys.argv[1])
"""

IMPORTS = """
before = state()
import skillwire, skillwire.host, skillwire.server, skillwire.contract, skillwire.drive
for module in (skillwire, skillwire.host, skillwire.server, skillwire.contract, skillwire.drive):
    for name in dir(module):
        getattr(module, name)
compare(before, "imported")
"""

ATTACHES = """
import skillwire
from mcp import Client
from mcp.server.mcpserver import MCPServer
server, other = MCPServer("host"), fastmcp.FastMCP("host")
before = state()
skillwire.attach(server, folder)
skillwire.attach(other, folder)
compare(before, "attached")

async def main():
    inside = state()  # the loop itself takes a signal
    async with Client(server) as client:
        assert (await client.list_resources()).resources
        compare(inside, "while a client asks")

anyio.run(main)
compare(before, "afterwards")
"""

CONNECTS = """
from skillwire import Host, Target
target = Target("own", command=(sys.executable, "-m", "skillwire", "serve", str(folder), "--no-config"))
before = state()

async def main():
    inside = state()
    async with Host([target]) as host:
        await host.discover()
        assert await host.find("one")
        compare(inside, "while connected")

anyio.run(main)
compare(before, "afterwards")
"""

SERVES = """
from skillwire import FolderSource, Library
from skillwire.server import Address, HostPolicy, http_app, listen, serve_http, skills_server
before = state()

async def main():
    inside = state()
    listening, bound = listen(Address("127.0.0.1", 0))
    app = http_app(skills_server(Library([FolderSource(folder)])), HostPolicy(bound))
    async with anyio.create_task_group() as tasks:
        started = anyio.Event()
        tasks.start_soon(serve_http, app, listening, started.set)
        await started.wait()
        compare(inside, "while serving")
        tasks.cancel_scope.cancel()

anyio.run(main)
compare(before, "afterwards")
"""

FILLS = """
import os, skillwire
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
before = state()
skillwire.serve(folder)
skillwire.SkillServer("demo").add(skillwire.Skill.from_dir(folder / "one")).run()
compare(before, "afterwards")
threading.Thread(target=skillwire.serve, args=[folder]).start()
for thread in threading.enumerate():
    thread is threading.main_thread() or thread.join()
compare(before, "after serving on another thread")
"""


@pytest.mark.parametrize(
    "does",
    [IMPORTS, ATTACHES, CONNECTS, SERVES, FILLS],
    ids=["imports", "attaches", "connects", "serves", "fills"],
)
def test_the_process_of_a_program_stays_as_it_was(tmp_path: Path, does: str) -> None:
    write_skill(tmp_path, "one")
    done = subprocess.run(
        [sys.executable, "-c", WATCH + does, str(tmp_path)],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, json.dumps(done.stderr.decode().splitlines()[-5:], indent=1)


def test_no_import_looks_for_functions_of_the_allocator(tmp_path: Path) -> None:
    watch = "import ctypes\ndef refuse(*_): raise AssertionError\nctypes.CDLL = refuse\n"
    does = watch + "import skillwire, anyio\nfrom skillwire import FolderSource, Library\n"
    write_skill(tmp_path, "one")
    does += f"anyio.run(Library([FolderSource({str(tmp_path)!r}, keep_good=True)]).load)"
    subprocess.run([sys.executable, "-c", does], timeout=PATIENCE, check=True)


REFUSES = """
from skillwire import Host, Target
before = state()

async def main():
    async with Host([Target("acme", url=sys.argv[2])]) as host:
        (problem,) = (await host.discover()).problems
    assert "JSON values" in problem.message, problem

anyio.run(main)
compare(before, "afterwards")
"""


def test_a_refused_answer_logs_nothing_in_the_program(tmp_path: Path) -> None:
    with PostingSite(body=b"[" * 1_000_000) as site:
        done = subprocess.run(
            [sys.executable, "-c", WATCH + REFUSES, tmp_path, site.url],
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"")
