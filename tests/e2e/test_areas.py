"""An area is one folder and one line: the program works without them, and a new area costs no more."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import httpx2
import pytest

from tests.support.paths import ROOT
from tests.support.peers import MODERN, PATIENCE, HttpPeer, HttpServer, StdioPeer, skillwire
from tests.support.skills import write, write_skill

PACKAGE = ROOT / "src/skillwire"
TABLE = "app/areas.py"
URI = "skill://refunds/SKILL.md"
AREAS = ("contract", "drive", "evals", "packing", "pages", "registry", "search")
COMMANDS = {
    "contract": ("project", "graph", "new", "schema"),
    "drive": ("drive",),
    "evals": ("eval",),
    "packing": ("pack",),
    "registry": ("push", "registry"),
    "search": ("search",),
}
OPTIONS = {"contract": "--contract", "drive": "--drive"}
EVERY_MODULE = """
import importlib, pkgutil, skillwire
from skillwire.errors import *
optional = ("skillwire.adapters.", "skillwire.server.attaching.fastmcp.", "skillwire.__main__")
for module in pkgutil.walk_packages(skillwire.__path__, "skillwire."):
    if not module.name.startswith(optional):
        importlib.import_module(module.name)
print(*sorted(name for name in __import__("sys").modules if name.startswith("skillwire")))
"""


class Build:
    """A copy of the package, and the processes that run it."""

    def __init__(self, folder: Path) -> None:
        self.package = folder / "src/skillwire"
        shutil.copytree(PACKAGE, self.package)
        self.skills = folder / "skills"
        write_skill(self.skills, "refunds")
        self.env = {
            **os.environ,
            "PYTHONPATH": str(self.package.parent),
            "SKILLWIRE_CACHE_DIR": str(folder / "cache"),
        }

    def without(self, area: str) -> "Build":
        """Remove an area: its folder and its line."""
        shutil.rmtree(self.package / area)
        table = self.package / TABLE
        lines = table.read_text("utf-8").splitlines(keepends=True)
        kept = [line for line in lines if f"skillwire.{area}." not in line]
        assert len(kept) == len(lines) - 1
        table.write_text("".join(kept), "utf-8")
        return self

    def run(self, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        return self.python("-m", "skillwire", *arguments)

    def python(self, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=PATIENCE, check=False
        )

    def serve(self, *options: str) -> StdioPeer:
        return StdioPeer(MODERN, skillwire("serve", self.skills, "--no-config", *options), self.env)

    def serve_http(self, *options: str) -> HttpServer:
        return HttpServer(self.skills, "--no-config", "--http", "0", *options, env=self.env)


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return Build(tmp_path)


@pytest.fixture(params=AREAS)
def area(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.parametrize("area", AREAS)
def test_only_its_line_in_the_table_names_an_area(area: str) -> None:
    # These export a name, open the index of `Library.search` or open `registry:`, loaded when used.
    lazy = {
        "drive": {"__init__.py"},
        "search": {"library/search.py", "evals/search_area.py"},
        "registry": {"__init__.py", "config/source_kinds.py"},
    }
    named = {
        path.relative_to(PACKAGE).as_posix(): len(lines)
        for path in PACKAGE.rglob("*.py")
        if not path.is_relative_to(PACKAGE / area)
        and (lines := re.findall(rf"^.*\bskillwire[./]{area}\b.*$", path.read_text("utf-8"), re.MULTILINE))
    }
    assert {path: count for path, count in named.items() if path not in lazy.get(area, ())} == {TABLE: 1}


def test_without_an_area_every_other_module_can_be_imported(build: Build, area: str) -> None:
    done = build.without(area).python("-c", EVERY_MODULE)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.split()) > 200
    assert not any(name.startswith(f"skillwire.{area}") for name in done.stdout.split())


def test_without_an_area_its_commands_and_options_are_gone(build: Build, area: str) -> None:
    build.without(area)
    listed = build.run("--help").stdout
    assert re.search(r"\bserve\b", listed)
    for command in COMMANDS.get(area, ()):
        assert not re.search(rf"^\W*{command}\b", listed, re.MULTILINE)
        assert build.run(command).returncode == 2
    if option := OPTIONS.get(area):
        done = build.run("serve", build.skills, option)
        assert (done.returncode, f"unknown option `{option}`" in done.stderr) == (2, True)
        assert option not in build.run("serve", "--help").stdout


def test_without_an_area_skills_are_still_checked_and_listed(build: Build, area: str) -> None:
    build.without(area)
    write_skill(build.skills, "broken", name="Not A Name")
    done = build.run("check", build.skills)
    assert (done.returncode, "broken/SKILL.md" in done.stdout) == (1, True)
    assert build.run("check", build.skills / "refunds", "--strict", "--format", "sarif").returncode == 0
    assert "refunds" in build.run("list", build.skills).stdout


def test_without_an_area_skills_are_served_on_stdio(build: Build, area: str) -> None:
    with build.without(area).serve() as peer:
        (skill,) = peer.result("skills/list")["skills"]
        assert skill["uri"] == URI
        assert "# Steps" in peer.result("resources/read", {"uri": URI})["contents"][0]["text"]
        tools = {tool["name"] for tool in peer.result("tools/list")["tools"]}
        assert ("skill-config" in tools) == (area != "pages")


def test_without_an_area_skills_are_served_over_http(build: Build, area: str) -> None:
    build.without(area)
    with build.serve_http() as server:
        assert httpx2.get(f"{server.base}/healthz", trust_env=False).status_code == 200
        page = httpx2.get(f"{server.base}/", trust_env=False)
        assert page.status_code == (404 if area == "pages" else 200)
        peer = HttpPeer(MODERN, server.url)
        assert [skill["uri"] for skill in peer.result("skills/list")["skills"]] == [URI]
        peer.http.close()


@pytest.mark.slow
def test_without_the_contract_the_server_keeps_every_rule(build: Build, tmp_path: Path) -> None:
    build.without("contract")
    program = tmp_path / "skillwire"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={build.package.parent} exec {sys.executable} -m skillwire "$@"\n', "utf-8"
    )
    program.chmod(0o755)
    suite = [
        "tests/blackbox/test_server_rules.py",
        "--confcutdir=tests/blackbox",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *suite, f"--basetemp={tmp_path / 'tests'}"],
        cwd=ROOT,
        env={**os.environ, "SKILLWIRE_COMMAND": str(program)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_without_search_eval_says_so(build: Build) -> None:
    build.without("search")
    write(build.skills, {"refunds/evals/a.json": '[{"query": "a", "should_trigger": true}]'})
    for options in ((), ("--level", "budget")):
        done = build.run("eval", build.skills, "--no-config", *options)
        assert (done.returncode, done.stdout) == (1, "")
        assert "this installation of Skillwire has no search" in done.stderr


GREETING = '''
from dataclasses import dataclass, replace
from typing import Annotated

from cyclopts import Parameter

from skillwire.area import AddedSource, Area, CheckFlags, Command, ServeFlags, ServePart
from skillwire.core.problem import Problem, Rule, Severity
from skillwire.features.addition import AddedFeatures
from skillwire.sources.memory import MemorySkill, MemorySource


@dataclass(frozen=True, slots=True)
class GreetingServeFlags(ServeFlags):
    greet: Annotated[str, Parameter(help="Whom to greet.")] = ""

    def part(self, request):
        return GreetingPart(self.greet) if self.greet else None


def opened(label):
    document = b"---\\nname: hello\\ndescription: Greets.\\n---\\n"
    return MemorySource([MemorySkill("hello", {"SKILL.md": document})], label=label)


class GreetingPart(ServePart):
    sources = [AddedSource("greeting", "the greeting", opened)]

    def __init__(self, whom):
        self.whom = whom

    def features(self, server):
        from skillwire.features.tools import Tool

        async def run(call):
            return {"content": [{"type": "text", "text": f"hello {self.whom}"}], "isError": False}

        return AddedFeatures(tools=[Tool("greet", "Greets.", {"type": "object"}, {}, run)])

    def mount(self, server, policy, token):
        from starlette.responses import PlainTextResponse
        from starlette.routing import Route

        from skillwire.server.http.routes import HttpMount

        async def answer(request):
            return PlainTextResponse(f"hello {self.whom}")

        told = f"{len(server.library.catalog.entries)} skills greet"
        return HttpMount((Route("/greeting", answer),), announced=(told,))


@dataclass(frozen=True, slots=True)
class GreetingCheckFlags(CheckFlags):
    polite: Annotated[bool, Parameter(help="Check that the skills are polite.")] = False

    def check(self, request, result):
        rude = Problem("refunds/SKILL.md", Rule.NAME_FORMAT, Severity.ERROR, "it does not greet")
        return replace(result, problems=[*result.problems, rude]) if self.polite else result


def greet(name: Annotated[str, Parameter(name="NAME", help="Whom to greet.")], /) -> int:
    """Greet."""
    print(f"hello {name}")
    return 0


AREA = Area(
    commands={"greet": Command("skillwire.greeting.area:greet", "Greet somebody.")},
    serve="skillwire.greeting.area:GreetingServeFlags",
    check="skillwire.greeting.area:GreetingCheckFlags",
)
'''


@pytest.fixture
def greeting(build: Build) -> Build:
    """The program with one more area: a folder, and a line in the table."""
    (build.package / "greeting").mkdir()
    (build.package / "greeting/__init__.py").write_text("", "utf-8")
    (build.package / "greeting/area.py").write_text(GREETING, "utf-8")
    table = build.package / TABLE
    line = '    Registration("greeting", "skillwire.greeting.area"),\n'
    table.write_text(table.read_text("utf-8").replace("AREAS = (\n", f"AREAS = (\n{line}"), "utf-8")
    return build


def test_a_new_area_brings_a_command(greeting: Build) -> None:
    assert "Greet somebody." in greeting.run("--help").stdout
    assert greeting.run("greet", "you").stdout == "hello you\n"


def test_a_new_area_brings_options_of_check(greeting: Build) -> None:
    assert "--polite" in greeting.run("check", "--help").stdout
    assert greeting.run("check", greeting.skills).returncode == 0
    done = greeting.run("check", greeting.skills, "--polite")
    assert (done.returncode, "it does not greet" in done.stdout) == (1, True)


def test_a_new_area_brings_sources_and_tools(greeting: Build) -> None:
    with greeting.serve("--greet", "you") as peer:
        uris = [skill["uri"] for skill in peer.result("skills/list")["skills"]]
        assert sorted(uris) == ["skill://hello/SKILL.md", URI]
        answer = peer.result("tools/call", {"name": "greet", "arguments": {}})
        assert answer["content"][0]["text"] == "hello you"


def test_a_new_area_brings_http_routes(greeting: Build) -> None:
    with greeting.serve_http("--greet", "you") as server:
        assert httpx2.get(f"{server.base}/greeting", trust_env=False).text == "hello you"
        assert any("2 skills greet" in line for line in server.log)


def test_an_area_without_its_options_is_not_loaded(greeting: Build) -> None:
    program = dedent("""
        import sys
        from skillwire.cli.main import run
        code = run(sys.argv[1:])
        print(*sys.modules, file=sys.stderr)
    """)
    done = greeting.python("-c", program, "check", greeting.skills, "--strict")
    loaded = done.stderr.split()
    assert "skillwire.cli.check" in loaded
    areas = re.compile(rf"skillwire\.(greeting|{'|'.join(AREAS)})")
    assert [name for name in loaded if areas.match(name)] == []


SESSION = """
import anyio, sys
from skillwire import Host
from skillwire.errors import ConflictError

async def main():
    async with Host(folders={"mine": sys.argv[1]}) as host:
        session = host.session()
        print(*(tool.name for tool in session.tools()))
        await host.discover()
        print(session.catalog_prompt(1))
        print(await session.tools()[0].invoke({"name": "nothing"}))
        try:
            await host.search("refunds")
        except ConflictError as error:
            print(error)

anyio.run(main)
"""


def test_without_search_sessions_and_servers_do_not_name_it(build: Build) -> None:
    done = build.without("search").python("-c", SESSION, build.skills)
    lines = done.stdout.splitlines()
    assert (done.returncode, lines[0]) == (0, "read_skill read_skill_file"), done.stderr
    assert lines[-1] == "this installation of Skillwire has no search"
    assert lines[-2] == "error: there is no skill `nothing`"
    assert "search" not in "".join(lines[:-1])
    with build.serve() as peer:
        assert "search-skills" not in {tool["name"] for tool in peer.result("tools/list")["tools"]}
