"""Search in real processes: several at the same time, killed ones, and a conversation of a model."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, Tool

from tests.support.clients import text_of
from tests.support.peers import MODERN, PATIENCE, VERSIONS, StdioPeer, skillwire
from tests.support.searching import leftovers, stored_files
from tests.support.skills import skill_md, write

MANY = 1_000
"""Skills from which an index is stored at once."""
_SUBJECTS = "invoices refunds contracts calendars spreadsheets diagrams videos translations recipes budgets"
_ACTIONS = "Archives Compares Converts Draws Explains Merges Prints Reviews Splits Translates"
_PLACES = "Berlin Cairo Delhi Lagos Lima Oslo Quito Seoul Tokyo Turin"
SUBJECTS, ACTIONS, PLACES = _SUBJECTS.split(), _ACTIONS.split(), _PLACES.split()


def many_skills(root: Path, number: int) -> Path:
    """Write skills with different descriptions; each has a guide that only it can name."""
    for at in range(number):
        name = f"skill-{at:04}"
        action, subject = ACTIONS[at % 10], SUBJECTS[at // 10 % 10]
        about = f"{action} {subject} of the office in {PLACES[at // 100 % 10]}."
        guide = f"The word of {name} is {at * 7919 % 100_003}.\n"
        body = f"# Steps\n\nRead `references/guide.md` before you start with {subject}.\n"
        write(root / name, {"SKILL.md": skill_md(name, about, body), "references/guide.md": guide})
    return root


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return many_skills(tmp_path_factory.mktemp("many"), MANY)


@pytest.fixture(scope="module")
def other_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return many_skills(tmp_path_factory.mktemp("other"), MANY - 50)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return many_skills(tmp_path_factory.mktemp("few"), 20)


def environment(cache: Path) -> dict[str, str]:
    return {**os.environ, "SKILLWIRE_CACHE_DIR": str(cache)}


def search_command(tree: Path, *words: str) -> list[str]:
    return skillwire("search", *words, "--from", tree, "--json", "--for", "models")


def started(command: Sequence[str], cache: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env=environment(cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finished(process: subprocess.Popen[bytes]) -> Any:
    out, err = process.communicate(timeout=PATIENCE * 2)
    assert (process.returncode, err) == (0, b""), err
    return json.loads(out)


def found_by(peer: StdioPeer, query: str) -> Any:
    result = peer.result("tools/call", {"name": "search-skills", "arguments": {"query": query}})
    assert "isError" not in result or not result["isError"], result
    return result["structuredContent"]


def test_processes_that_share_a_cache_folder_agree(tmp_path: Path, tree: Path, other_tree: Path) -> None:
    cache, query = tmp_path / "cache", "merge spreadsheets in Lima"
    commands = [started(search_command(each, query), cache) for each in (tree, tree, other_tree)]
    with StdioPeer(MODERN, skillwire("serve", tree), environment(cache)) as server:
        from_server = found_by(server, query)
        one, two, other = map(finished, commands)
        assert one == two == from_server
        assert one["results"][0]["name"] == "skill-0445"
        assert other["results"][0]["name"] == "skill-0445"
    folder = cache / "search"
    assert len(stored_files(folder)) == 2
    assert leftovers(folder) == []
    assert finished(started(search_command(other_tree, query), tmp_path / "another")) == other
    before = {path.name: path.stat().st_ino for path in stored_files(folder)}
    assert finished(started(search_command(tree, query), cache)) == one
    assert {path.name: path.stat().st_ino for path in stored_files(folder)} == before


def test_process_killed_during_the_build_disturbs_nobody(tmp_path: Path, tree: Path) -> None:
    cache = tmp_path / "cache"
    folder = cache / "search"
    killed = 0
    for _ in range(3):
        process = started(search_command(tree, "invoices"), cache)
        until = time.monotonic() + PATIENCE
        while process.poll() is None and not leftovers(folder) and time.monotonic() < until:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        killed += process.returncode == -signal.SIGKILL
        for path in stored_files(folder):
            path.unlink()
        if killed:
            break
    assert killed
    assert leftovers(folder)
    found = finished(started(search_command(tree, "print refunds in Oslo"), cache))
    assert found["results"][0]["name"] == "skill-0516"
    for abandoned in leftovers(folder):  # as if it had been there for long
        os.utime(folder / abandoned, (0, 0))
    (stored,) = stored_files(folder)
    stored.write_bytes(b"")
    assert finished(started(search_command(tree, "print refunds in Oslo"), cache)) == found
    assert leftovers(folder) == []


@pytest.mark.parametrize("version", [VERSIONS[0], VERSIONS[-1]])
def test_wrong_calls_over_stdio_are_answered_and_end_nothing(tmp_path: Path, few: Path, version: str) -> None:
    wrong: list[Mapping[str, object]] = [
        {},
        {"query": 3},
        {"query": " "},
        {"query": "x" * 1_000_000},
        {"query": "refund", "limit": "3"},
        {"query": "refund", "limit": True},
        {"query": "refund", "limit": 1e300},
        {"query": "refund", "cursor": "bad"},
    ]
    with StdioPeer(version, skillwire("serve", few), environment(tmp_path / "cache")) as peer:
        for arguments in wrong:
            answer = peer.request("tools/call", {"name": "search-skills", "arguments": arguments})
            assert "error" in answer or answer["result"]["isError"] is True, answer
        odd = ['"a* NEAR(b c)" :', "\0", "عربي", "日本語", "the of and"]
        for query in odd:
            result = peer.result("tools/call", {"name": "search-skills", "arguments": {"query": query}})
            assert "results" in result["structuredContent"]


def test_command_and_tool_give_the_same_order(tmp_path: Path, few: Path) -> None:
    queries = ["office", "translte budgets", "skill-0007"]
    with StdioPeer(VERSIONS[1], skillwire("serve", few), environment(tmp_path)) as peer:
        commands = [started(search_command(few, query), tmp_path) for query in queries]
        assert [found_by(peer, query) for query in queries] == list(map(finished, commands))


def test_command_takes_bytes_that_are_no_text(tmp_path: Path) -> None:
    write(tmp_path / "skills" / "one", {"SKILL.md": skill_md("one", "Does refunds.")})
    done = subprocess.run(
        [
            *map(os.fsencode, skillwire("search")),
            b"refund \xff\xfe",
            b"--from",
            os.fsencode(tmp_path / "skills"),
        ],
        env=environment(tmp_path / "cache"),
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"one\t")


# A model


class Model:
    """Finds and reads a skill, knowing only what the server says: its instructions, and its list of tools."""

    def __init__(self, client: Client, tools: Sequence[Tool]) -> None:
        self._client, self.tools = client, tools
        self.calls = 0

    def tool_for(self, purpose: str) -> Tool:
        """Return the tool whose description begins with this purpose."""
        (found,) = (each for each in self.tools if (each.description or "").lower().startswith(purpose))
        return found

    async def call(self, tool: Tool, *values: str) -> CallToolResult:
        """Call a tool with its required arguments in order."""
        self.calls += 1
        arguments = dict(zip(tool.input_schema["required"], values, strict=True))
        answer = await self._client.call_tool(tool.name, arguments)
        assert not answer.is_error, answer
        return answer


@pytest.mark.anyio
async def test_model_reads_the_right_of_1000_skills_in_three_calls(tmp_path: Path, tree: Path) -> None:
    wanted = 756  # the task names no skill, only what to do
    task = f"{ACTIONS[wanted % 10]} {SUBJECTS[wanted // 10 % 10]} in {PLACES[wanted // 100 % 10]}"
    process = StdioServerParameters(
        command=sys.executable,
        args=["-m", "skillwire", "serve", str(tree)],
        env=environment(tmp_path / "cache"),
    )
    async with Client(process) as client:
        model = Model(client, (await client.list_tools()).tools)
        assert not any(f"skill-{wanted:04}" in each.model_dump_json() for each in model.tools)
        found = await model.call(model.tool_for("find skills"), task)
        assert found.structured_content is not None
        name = found.structured_content["results"][0]["name"]
        loaded = text_of(await model.call(model.tool_for("load"), name))
        assert "references/guide.md" in loaded
        guide = await model.call(model.tool_for("read"), name, "references/guide.md")
    assert model.calls == 3
    assert f"The word of skill-{wanted:04} is {wanted * 7919 % 100_003}." in str(guide.content)
