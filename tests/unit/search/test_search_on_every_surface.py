"""Search where clients meet it: the list of tools, errors, forgiving names and `skills/list`."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult

from skillwire import ServeOptions, Skill, SkillServer
from skillwire.app.areas import with_area_additions
from skillwire.server import skills_server
from tests.support.clients import ERAS, library_of, refusal, skill, text_of
from tests.support.peers import VERSIONS, Peer, StdioPeer, skillwire
from tests.support.skills import write_skill

pytestmark = pytest.mark.anyio

QUERY = "dev.skillwire/query"
DOCS = Path(__file__).parents[3] / "examples/skills/skillwire-docs"

SKILLS = (
    skill("office/slides", "description: Makes presentations. Use for slide decks and talks.\n"),
    skill("office/pdf-form", "description: Fills in PDF forms.\n", {"References/Guide.md": b"# Guide\n"}),
    skill("finance/refunds", "description: Gives customers their money back.\n"),
    skill("finance/hidden", "description: Gives money back.\ndisable-model-invocation: true\n"),
)


async def client_of(mode: Any, *skills: Any, **options: Any) -> Client:
    chosen = with_area_additions(ServeOptions(**options))
    return Client(skills_server(await library_of(*(skills or SKILLS)), options=chosen), mode=mode)


def names(result: CallToolResult) -> list[str]:
    assert result.structured_content is not None
    assert json.loads(text_of(result)) == result.structured_content
    return [each["name"] for each in result.structured_content["results"]]


@pytest.mark.parametrize("mode", ERAS)
async def test_the_tool_is_listed_after_the_tools_that_load(mode: Any) -> None:
    async with await client_of(mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["load-skill", "skill-resource", "search-skills"]
        assert tools[2].annotations is not None
        assert tools[2].annotations.read_only_hint is True
        assert "`search-skills`" in (client.instructions or "")


@pytest.mark.parametrize("mode", ERAS)
async def test_no_tools_means_no_search_and_no_mention_of_it(mode: Any) -> None:
    async with await client_of(mode, skill_tools="never") as client:
        assert not (await client.list_tools()).tools
        assert "search-skills" not in (client.instructions or "")


@pytest.mark.parametrize("mode", ERAS)
async def test_the_best_skill_is_found_and_hidden_skills_are_not(mode: Any) -> None:
    async with await client_of(mode) as client:
        assert names(await client.call_tool("search-skills", {"query": "money back"})) == ["refunds"]
        assert (
            names(await client.call_tool("search-skills", {"query": "fill a form in a PDF"}))[0] == "pdf-form"
        )


@pytest.mark.parametrize("mode", ERAS)
async def test_an_unknown_name_gets_the_closest_skills_and_the_tool(mode: Any) -> None:
    async with await client_of(mode) as client:
        text = await refusal(client, "load-skill", {"name": "slide deck"})
        assert text.startswith("there is no skill `slide deck`; did you mean `slides`")
        assert "`search-skills` finds skills by what they do" in text
        text = await refusal(client, "load-skill", {"name": "money"})
        assert "did you mean `refunds`?" in text
        assert "hidden" not in text
        text = await refusal(client, "skill-resource", {"skill": "zzz", "path": ""})
        assert text == "there is no skill `zzz`; `search-skills` finds skills by what they do"


@pytest.mark.parametrize("written", ["PDF-Form", " pdf-form ", "/pdf-form", "pdf_form", "Office/PDF_Form"])
@pytest.mark.parametrize("mode", ERAS)
async def test_small_differences_in_a_name_do_not_matter(mode: Any, written: str) -> None:
    async with await client_of(mode) as client:
        result = await client.call_tool("load-skill", {"name": written})
        assert not result.is_error
        blocks = [block.text for block in result.content if block.type == "text"]
        assert "name: pdf-form" in blocks[0]
        said = [f"There is no skill `{written}`; this is `pdf-form`."] if written != "/pdf-form" else []
        assert blocks[1:] == said


@pytest.mark.parametrize("mode", ERAS)
async def test_a_name_that_could_be_two_skills_is_not_guessed(mode: Any) -> None:
    skills = (skill("a/one-two"), skill("b/one-two"))
    async with await client_of(mode, *skills) as client:
        text = await refusal(client, "load-skill", {"name": "One_Two"})
        assert "is the name of 2 skills" in text


@pytest.mark.parametrize("mode", ERAS)
async def test_the_case_of_a_file_name_does_not_matter(mode: Any) -> None:
    async with await client_of(mode) as client:
        arguments = {"skill": "pdf-form", "path": "references/guide.MD"}
        assert "# Guide" in text_of(await client.call_tool("skill-resource", arguments))


@pytest.mark.parametrize("version", VERSIONS[:2])
def test_skills_list_answers_a_query_in_meta(tmp_path: Path, version: str) -> None:
    for name, description in (
        ("refunds", "Gives money back."),
        ("slides", "Makes decks."),
        ("odd", "Money."),
    ):
        document = f"---\nname: {name}\ndescription: {description}\n---\n"
        write_skill(tmp_path / "skills", name, {"SKILL.md": document})
    command = skillwire("serve", tmp_path / "skills", "--no-config")
    with StdioPeer(version, command, {**os.environ, "SKILLWIRE_CACHE_DIR": str(tmp_path / "cache")}) as peer:
        assert "dev.skillwire/search" in peer.handshake["capabilities"]["extensions"]
        every = peer.result("skills/list")
        found = listed(peer, {"text": "money back", "limit": 1})
        assert [each["uri"] for each in found["skills"]] == ["skill://refunds/SKILL.md"]
        assert found["_meta"]["dev.skillwire/query"] == {"total": 2, "weak": False}
        rest = listed(peer, {"text": "money back", "limit": 1}, cursor=found["nextCursor"])
        assert [each["uri"] for each in rest["skills"]] == ["skill://odd/SKILL.md"]
        assert "nextCursor" not in rest
        assert all(each in every["skills"] for each in (*found["skills"], *rest["skills"]))
        assert peer.result("skills/list") == every
        for wrong in (
            "money",
            {"limit": 3},
            {"text": 3},
            {"text": "x", "limit": "3"},
            {"text": "x", "limit": 0},
        ):
            assert peer.error("skills/list", {"_meta": {QUERY: wrong}})["code"] == -32602
        assert peer.error("skills/list", {"_meta": {QUERY: {"text": "x"}}, "cursor": "y"})["code"] == -32602


def listed(peer: Peer, query: object, **params: object) -> Any:
    return peer.result("skills/list", {**params, "_meta": {QUERY: query}})


async def test_a_server_in_code_has_search() -> None:
    client = Client(SkillServer("shop").add(Skill.from_dir(DOCS)).build())
    async with client:
        assert "search-skills" in [tool.name for tool in (await client.list_tools()).tools]
        assert names(await client.call_tool("search-skills", {"query": "documentation"})) == [
            "skillwire-docs"
        ]


async def test_library_search_needs_no_server() -> None:
    library = await library_of(*SKILLS)
    first, *_ = (await library.search("slides for a talk")).results
    assert (first.name, first.rank, first.uri) == ("slides", 1, "skill://office/slides/SKILL.md")
    assert {"name", "description"} <= set(first.fields)
    everyone = [each.name for each in (await library.search("money back")).results]
    assert set(everyone) == {"refunds", "hidden"}
