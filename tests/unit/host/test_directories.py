"""Folders that a server shows: their direct children, and nothing else."""

from typing import Any

import pytest
from mcp import Client

from skillwire import Skill, SkillServer
from skillwire.errors import VerificationError
from skillwire.host import SkillsClient
from tests.support.scripted import ScriptedServer

pytestmark = pytest.mark.anyio

FOLDER = "skill://x"


async def children(answer: dict[str, Any], folder: str = FOLDER) -> list[str]:
    script = ScriptedServer(folders={folder: answer})
    async with Client(script.server()) as client:
        return [child["uri"] for child in await SkillsClient(client).read_directory(folder)]


async def refusal(answer: dict[str, Any]) -> str:
    async with Client(ScriptedServer(folders={FOLDER: answer}).server()) as client:
        with pytest.raises(VerificationError) as refused:
            await SkillsClient(client).read_directory(FOLDER)
    return refused.value.problems[0].message


@pytest.mark.rule("H16")
async def test_children_are_files_and_folders() -> None:
    uris = ["skill://x/SKILL.md", "skill://x/references", "skill://x/a%20b.md", "skill://x/more/"]
    for folder in (FOLDER, f"{FOLDER}/"):
        assert await children({"resources": [{"uri": uri} for uri in uris]}, folder) == uris


@pytest.mark.rule("H7", "H16")
@pytest.mark.parametrize(
    "child",
    [
        {"uri": "skill://other/a.md"},
        {"uri": "skill://xy/a.md"},
        {"uri": "skill://x"},
        {"uri": "skill://x/"},
        {"uri": "skill://x/references/a.md"},
        {"uri": "skill://x/.."},
        {"uri": "skill://x/%2e%2e"},
        {"uri": "skill://x/%2e%2e%2fother"},
        {"uri": "skill://x/a%5cb"},
        {"uri": "skill://x/a%00b"},
        {"uri": 7},
        {},
        7,
    ],
)
async def test_entry_that_is_not_a_direct_child_is_refused(child: Any) -> None:
    told = await refusal({"resources": [{"uri": "skill://x/SKILL.md"}, child]})
    assert told == "an entry is not a direct child of the folder"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({}, "`resources` is not a list"),
        ({"resources": {}}, "`resources` is not a list"),
        ({"resources": [], "nextCursor": 7}, "a cursor is not a string of at most 65,536 characters"),
        ({"resources": [], "nextCursor": ""}, "a cursor is repeated"),
    ],
)
async def test_malformed_page_is_refused(answer: dict[str, Any], told: str) -> None:
    assert await refusal(answer) == told


@pytest.mark.rule("H1")
@pytest.mark.parametrize("declared", [None, {}, {"directoryRead": 1}, {"directoryRead": False}])
async def test_directories_are_read_only_if_the_server_declares_it(declared: Any) -> None:
    async with Client(ScriptedServer(declared=declared).server()) as client:
        assert SkillsClient(client).reads_directories is False
    async with Client(ScriptedServer().server()) as client:
        assert SkillsClient(client).reads_directories is True


async def test_own_server_lists_its_directories() -> None:
    skill = Skill("x", "---\nname: x\ndescription: X.\n---\n").with_reference("a/b.md", "text/markdown", "B")
    async with Client(SkillServer("s").add(skill).build()) as connection:
        client = SkillsClient(connection)
        assert client.reads_directories
        below = {child["uri"] for child in await client.read_directory("skill://x")}
        assert below == {"skill://x/SKILL.md", "skill://x/a"}
