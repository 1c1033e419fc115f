"""A program that serves skills logs why skills are missing: once, and again when the reason changes."""

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client as FastMCPClient
from fastmcp import FastMCP
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer

from skillwire import MemorySource, Skill, SkillServer, attach
from skillwire.app.collect import Servable, collect_skills
from skillwire.library.library import Library
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio

BROKEN = "---\nname: [\n---\n"


def library_of(*parts: Servable, base: Path) -> Library:
    return collect_skills(parts, label="code", base=base).library


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what Skillwire logged since the last call."""
    records = [each for each in caplog.records if each.name.startswith("skillwire")]
    assert all(each.levelno == logging.WARNING for each in records)
    caplog.clear()
    return [each.getMessage() for each in records]


async def list_twice(server: Any, connect: Callable[[Any], Any]) -> None:
    for _ in range(2):
        client = connect(server)
        async with client:
            for _ in range(2):
                await client.list_resources()


@pytest.mark.parametrize(
    ("make", "connect"), [(FastMCP, FastMCPClient), (MCPServer, Client), (Server, Client)]
)
async def test_missing_folder_is_logged_once_for_all_connections(
    make: Callable[[str], Any],
    connect: Callable[[Any], Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = make("bills")
    attach(server, tmp_path / "skils")
    assert not logged(caplog)
    await list_twice(server, connect)
    (line,) = logged(caplog)
    assert line == (
        f"`{tmp_path}/skils`: the source `skils` is missing: there is no such folder; "
        "create it, or correct its name; it is served as soon as it exists"
    )


async def test_file_in_place_of_folder_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_skill(tmp_path, "adding")
    await library_of("adding/SKILL.md", base=tmp_path).load()
    (line,) = logged(caplog)
    assert line.startswith(f"`{tmp_path}/adding/SKILL.md`: the source `SKILL.md` is not served: ")
    assert "not a directory" in line


async def test_empty_folder_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "empty").mkdir()
    await library_of("empty", base=tmp_path).load()
    assert logged(caplog) == [
        f"`{tmp_path}/empty`: no skills here; a skill is a folder with a `SKILL.md` in it"
    ]


async def test_good_skills_log_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_skill(tmp_path / "skills", "adding")
    await library_of("skills", MemorySource(), base=tmp_path).load()
    await SkillServer("s").list_resources()
    server = SkillServer("s").add(Skill("b", "---\nname: b\ndescription: B.\n---\n"))
    await server.list_resources()
    assert not logged(caplog)


async def test_broken_skill_is_logged_with_file_line_and_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_skill(tmp_path / "skills", "adding")
    (tmp_path / "skills/bad").mkdir()
    (tmp_path / "skills/bad/SKILL.md").write_text(BROKEN)
    library = library_of("skills", base=tmp_path)
    await library.load()
    (line,) = logged(caplog)
    start = f"`{tmp_path}/skills`: 1 problem keeps skills from being served: bad/SKILL.md:3: not YAML: "
    assert line.startswith(start)
    await library.rescan_source(library.sources[0])
    await library.load()
    assert not logged(caplog)


async def test_many_broken_skills_are_one_bounded_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(40):
        (tmp_path / f"skills/bad-{number}").mkdir(parents=True)
        (tmp_path / f"skills/bad-{number}/SKILL.md").write_text(BROKEN)
    await library_of("skills", base=tmp_path).load()
    (line,) = logged(caplog)
    assert "40 problems keep skills from being served: " in line
    assert line.endswith("; 37 more in the resource `skillwire://problems`")
    assert len(line) < 3000
    assert line.isprintable()


async def test_skill_broken_later_is_logged_once_per_break(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = write_skill(tmp_path / "skills", "adding") / "SKILL.md"
    text = good.read_text()
    library = library_of("skills", base=tmp_path)
    (source,) = library.sources
    await library.load()
    for _ in range(2):
        good.write_text(BROKEN)
        await library.rescan_source(source)
        await library.rescan_source(source)
        (line,) = logged(caplog)
        assert "1 problem keeps edits of skills from being served: adding/SKILL.md:3: not YAML: " in line
        assert "; the last good version is served" in line
        good.write_text(text)
        await library.rescan_source(source)
        assert not logged(caplog)


async def test_folder_that_vanishes_later_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_skill(tmp_path / "skills", "adding")
    library = library_of("skills", base=tmp_path)
    await library.load()
    (tmp_path / "skills").rename(tmp_path / "moved")
    await library.rescan_source(library.sources[0])
    (line,) = logged(caplog)
    assert "the source `skills` is missing" in line


@pytest.mark.slow
def test_warning_appears_on_stderr_without_logging_setup(tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    program.write_text(
        "import anyio\n"
        "from mcp import Client\n"
        "from mcp.server.lowlevel import Server\n"
        "from skillwire import attach\n"
        "server = Server('bills')\n"
        "attach(server, 'skils')\n"
        "async def main():\n"
        "    async with Client(server) as client:\n"
        "        await client.list_resources()\n"
        "anyio.run(main)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert done.stderr.count("the source `skils` is missing: there is no such folder") == 1
