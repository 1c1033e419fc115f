"""Folders that a server shows: their direct children, and nothing else."""

from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import Host, LiveSkill, ServerSource, Skill, SkillRequest, SkillServer
from skillwire.errors import VerificationError
from skillwire.host import ConnectedServer, Session, SkillsClient
from tests.support.hosts import Person, open_host
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


def live(**more: Any) -> ScriptedServer:
    """Return a server of a dynamic skill with a file in a folder."""
    script = ScriptedServer(**more)
    uri = script.publish("x", {"refs/a.md": b"# A\n"})
    script.publish("other", {"b.md": b"# B\n"})
    script.entries[0]["resources"] = "dynamic"
    assert script.entries[0]["uri"] == uri
    return script


async def folder_text(session: Session, path: str) -> str:
    tool = next(each for each in session.tools() if each.name == "read_skill_file")
    return await tool.call({"name": "acme:x", "path": path})


ROOT, REFS = ["SKILL.md", "refs"], ["refs/a.md"]


@pytest.mark.rule("H1", "H16")
@pytest.mark.parametrize("path", ["", "refs", "refs/", "./refs", "skill://x/refs"])
async def test_model_lists_a_folder_of_a_dynamic_skill(path: str) -> None:
    names = ROOT if not path else REFS
    listed = {"resources": [{"uri": f"skill://x/{name}"} for name in names]}
    script = live(folders={f"skill://x{'/refs' if path else ''}": listed})
    async with open_host("auto", Person(), acme=script) as host:
        await (session := host.session()).load("acme:x")
        text = await folder_text(session, path)
    assert text.splitlines()[2:-1] == names
    assert script.count("resources/directory/read") == 1


@pytest.mark.rule("H1")
@pytest.mark.parametrize("path", ["", "refs", "refs/"])
async def test_folder_is_found_in_the_list_of_resources(path: str) -> None:
    others = ["skill://other/b.md", "skill://xy/a.md", "skill://x", "skill://x/%2e%2e%2fother/b.md"]
    uris = [*others, "skill://x/SKILL.md", "skill://x/refs/a.md"]
    script = live(declared={}, resources=[{"uri": uri, "name": "a"} for uri in uris])
    async with open_host("auto", Person(), acme=script) as host:
        await (session := host.session()).load("acme:x")
        assert (await folder_text(session, path)).splitlines()[2:-1] == (REFS if path else ROOT)
    assert script.count("resources/directory/read") == 0


@pytest.mark.rule("H1")
@pytest.mark.parametrize("path", ["", "refs", "refs/"])
async def test_server_without_folders_is_reported_plainly(path: str) -> None:
    script = live(declared={})
    async with open_host("auto", Person(), acme=script) as host:
        await (session := host.session()).load("acme:x")
        text = await folder_text(session, path)
    assert text.startswith("error: server `acme`: ")
    assert "the server lists no folders; read the files that the text of the skill names" in text
    assert "resources/directory/read" not in text
    assert script.count("resources/directory/read") == 0


NO_SUCH = "error: server `acme`: the skill has no file or folder `files`; an empty path lists its files"


@pytest.mark.parametrize(("path", "code"), [("files", -32602), ("files", -32002), ("files/", -32602)])
async def test_missing_folder_of_a_dynamic_skill_is_told_plainly(path: str, code: int) -> None:
    script = live()
    refusal = MCPError(code, "no file is served at it")
    script.read, script.folders = {"skill://x/files": refusal}, {"skill://x/files": refusal}
    async with open_host("auto", Person(), acme=script) as host:
        await (session := host.session()).load("acme:x")
        assert await folder_text(session, path) == NO_SUCH.replace("`files`", f"`{path}`")


@pytest.mark.parametrize("broken", ["read", "folders"])
async def test_other_refusals_of_a_server_are_told_as_such(broken: str) -> None:
    script = live()
    script.read = script.folders = {"skill://x/files": MCPError(-32602, "nothing here")}
    setattr(script, broken, {"skill://x/files": MCPError(-32603, "the disk is full")})
    async with open_host("auto", Person(), acme=script) as host:
        await (session := host.session()).load("acme:x")
        text = await folder_text(session, "files")
    assert "the server refused" in text
    assert "no file or folder" not in text


@pytest.mark.rule("H2", "H25")
async def test_endless_list_of_resources_ends_the_search_for_a_folder() -> None:
    async with Client(live(declared={}, resources=endless()).server()) as connection:
        client = SkillsClient(connection)
        children = await client.list_folder("skill://x")
        assert len(children) == client.limits.files


def endless() -> dict[str, Any]:
    """Return a page that leads to itself, with more files than a skill may have."""
    return {
        "resources": [{"uri": f"skill://x/{number}", "name": "a"} for number in range(2000)],
        "nextCursor": "again",
    }


async def test_folder_of_our_own_dynamic_skill_is_listed() -> None:
    async def now(_request: SkillRequest) -> str:
        return "# Now\n"

    server = SkillServer("s").add(LiveSkill("x", now, description="X."))
    async with Client(server.build()) as client:
        source = ServerSource(ConnectedServer("acme", client))
        async with Host(sources=[source], approve=Person()) as host:
            await host.discover()
            await (session := host.session()).load("acme:x")
            assert (await folder_text(session, "")).splitlines()[2:-1] == ["SKILL.md"]
            assert await folder_text(session, "files") == NO_SUCH
