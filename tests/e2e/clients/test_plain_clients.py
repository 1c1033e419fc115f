"""Clients that know nothing of skills: what reaches the model, over both transports, in both eras."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastmcp.client.transports import StdioTransport
from pydantic_ai import BinaryContent
from pydantic_ai.mcp import MCPToolset

from tests.support.peers import VERSIONS, HttpPeer, HttpServer, Peer, StdioPeer, skillwire
from tests.support.skills import skill_md, write_skill

LOGO = b"\x89PNG\x00\xff"
FILES = {"refs/a.md": "alpha\n", "refs/b/c.txt": "gamma\n", "refs/logo.png": LOGO}


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    write_skill(tmp_path / "skills", "refunds", FILES)
    return tmp_path / "skills"


@contextmanager
def served(transport: str, version: str, *arguments: str | Path) -> Generator[Peer]:
    if transport == "stdio":
        with StdioPeer(version, skillwire("serve", *arguments)) as peer:
            yield peer
        return
    with HttpServer(*arguments, "--http", "127.0.0.1:0") as server:
        peer = HttpPeer(version, server.url)
        yield peer
        peer.close()


over_both = pytest.mark.parametrize("transport", ["stdio", "http"])
in_both_eras = pytest.mark.parametrize("version", VERSIONS[:2])


@over_both
@in_both_eras
@pytest.mark.parametrize("response_cache", [[], ["--no-cache"]])
def test_a_folder_names_each_of_its_files(
    transport: str, version: str, response_cache: list[str], skills: Path
) -> None:
    with served(transport, version, skills, "--no-config", *response_cache) as peer:
        arguments = {"skill": "refunds", "path": "refs"}
        result = peer.result("tools/call", {"name": "skill-resource", "arguments": arguments})
        again = peer.result("tools/call", {"name": "skill-resource", "arguments": arguments})
    assert result["isError"] is False
    assert [block.get("text") for block in result["content"]] == [
        "--- refs/a.md ---\nalpha\n",
        "--- refs/b/c.txt ---\ngamma\n",
        "--- refs/logo.png ---\n(6 bytes that are not text: the next item)",
        None,
    ]
    assert result["content"][3]["resource"]["uri"] == "skill://refunds/refs/logo.png"
    assert again == result


@over_both
@in_both_eras
@pytest.mark.parametrize(
    ("options", "kind"),
    [([], "resource"), (["--prompt-content", "resource"], "resource"), (["--prompt-content=text"], "text")],
    ids=str,
)
def test_a_prompt_holds_what_the_option_says(
    transport: str, version: str, options: list[str], kind: str, skills: Path
) -> None:
    with served(transport, version, skills, "--no-config", *options) as peer:
        (message,) = peer.result("prompts/get", {"name": "refunds"})["messages"]
        (read,) = peer.result("resources/read", {"uri": "skill://refunds/SKILL.md"})["contents"]
    content: Any = message["content"]
    assert content["type"] == kind
    held = content if kind == "text" else content["resource"]
    assert held["text"] == read["text"] == skill_md("refunds").decode()
    assert content["annotations"] == {"audience": ["assistant"], "priority": 1.0}


@in_both_eras
@pytest.mark.parametrize("options", [[], ["--prompt-content", "resource"], ["--prompt-content", "text"]])
def test_a_prompt_of_a_bridge_always_says_whose_it_is(version: str, options: list[str], skills: Path) -> None:
    command = ["--", *skillwire("serve", skills, "--no-config")]
    label = "python-skillwire-serve"
    bridge = skillwire("bridge", "--trust", label, *options, *command)
    with StdioPeer(version, bridge) as peer:
        names = [each["name"] for each in peer.result("prompts/list")["prompts"]]
        (message,) = peer.result("prompts/get", {"name": names[1]})["messages"]
        arguments = {"skill": "refunds", "path": "refs"}
        folder = peer.result("tools/call", {"name": "skill-resource", "arguments": arguments})["content"]
    assert message["content"]["type"] == "text"
    assert message["content"]["text"].startswith(f"The skill `{names[1]}`, from the server `{label}`.")
    first, second, name, blob = folder
    for block, path in ((first, "refs/a.md"), (second, "refs/b/c.txt")):
        begin = f"--- {path} ---\nThe file `{path}` of the skill `{names[1]}`, from the server `{label}`."
        assert block["text"].startswith(begin)
    assert name["text"].startswith("--- refs/logo.png ---\n")
    assert blob["resource"]["uri"] == f"skill://{names[1]}/refs/logo.png"


@pytest.mark.anyio
async def test_pydantic_ai_reads_the_name_of_each_file(skills: Path) -> None:
    program, *arguments = skillwire("serve", skills, "--no-config")
    async with MCPToolset(StdioTransport(program, arguments)) as tools:
        parts: Any = await tools.direct_call_tool("skill-resource", {"skill": "refunds", "path": "refs"})
    first, second, name, blob = parts
    assert first == "--- refs/a.md ---\nalpha\n"
    assert second == "--- refs/b/c.txt ---\ngamma\n"
    assert name.startswith("--- refs/logo.png ---\n")
    assert isinstance(blob, BinaryContent)
    assert blob.data == LOGO
