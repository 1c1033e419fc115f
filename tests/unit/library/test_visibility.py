"""Who may start a skill: decided by its frontmatter or its operator, and enforced."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference

from skillwire import FolderSource, Library, ServeOptions
from skillwire.config.file import ConfigFile, decide
from skillwire.errors import BadParamsError
from skillwire.features.base import Call, all_methods
from skillwire.library.visibility import Override, Visibility, VisibilityPolicy
from skillwire.server import Channel, skills_server
from skillwire.server.serve_options import all_features
from skillwire.sources import MemorySkill
from tests.support.clients import ERAS, connected, library_of, refusal, skill, text_of
from tests.support.peers import VERSIONS, HttpPeer, HttpServer, StdioPeer, skillwire
from tests.support.skills import write

pytestmark = pytest.mark.anyio

BOTH = skill("both")
FOR_PEOPLE = skill("for-people", "disable-model-invocation: true\n", {"guide.md": b"guide\n"})
FOR_MODELS = skill("for-models", "user-invocable: false\n")
FOR_NOBODY = skill("for-nobody", "disable-model-invocation: true\nuser-invocable: false\n", {"a.md": b"a\n"})
ALL = (BOTH, FOR_PEOPLE, FOR_MODELS, FOR_NOBODY)


# The policy


def decided(more: str, override: Override | None = None) -> tuple[Visibility, list[str]]:
    """Return who a skill with this frontmatter is for, and the rules that it breaks."""
    catalog = anyio.run(lambda: library_of(skill("one", more))).catalog
    (entry,) = catalog.entries.values()
    policy = VisibilityPolicy({entry.uri: override} if override else {})
    return policy.of(entry), [problem.rule for problem in catalog.problems]


@pytest.mark.parametrize(
    ("frontmatter", "assistant", "user"),
    [
        ("", True, True),
        ("disable-model-invocation: true\n", False, True),
        ("disable-model-invocation: false\n", True, True),
        ("user-invocable: false\n", True, False),
        ("user-invocable: true\n", True, True),
        ("disable-model-invocation: true\nuser-invocable: false\n", False, False),
    ],
)
def test_the_frontmatter_decides(frontmatter: str, *, assistant: bool, user: bool) -> None:
    assert decided(frontmatter) == (Visibility(assistant, user), [])


@pytest.mark.parametrize(
    "value", ["'true'", "yes", "on", "1", "null", "[true]", "{a: true}", '"false"', "off"]
)
@pytest.mark.parametrize("field", ["disable-model-invocation", "user-invocable"])
def test_only_real_booleans_count_and_anything_else_is_a_problem(field: str, value: str) -> None:
    visibility, rules = decided(f"{field}: {value}\n")
    assert visibility == Visibility()
    assert "invocation-type" in rules
    assert set(rules) <= {"invocation-type", "yaml-ambiguous"}


@pytest.mark.parametrize("frontmatter", ["", "disable-model-invocation: true\nuser-invocable: false\n"])
@pytest.mark.parametrize("assistant", [True, False, None])
@pytest.mark.parametrize("user", [True, False, None])
def test_the_operator_wins_over_the_frontmatter_side_by_side(
    frontmatter: str, *, assistant: bool | None, user: bool | None
) -> None:
    own, _ = decided(frontmatter)
    found, _ = decided(frontmatter, Override(assistant, user))
    assert found.assistant is (own.assistant if assistant is None else assistant)
    assert found.user is (own.user if user is None else user)


# What a client sees


@pytest.mark.parametrize("mode", ERAS)
async def test_only_skills_for_models_are_in_the_catalog(mode: Any) -> None:
    for channel in Channel:
        async with connected(mode, *ALL, options=ServeOptions(channel)) as client:
            told = client.instructions or (await client.list_tools()).tools[0].description or ""
            asked = text_of(await client.call_tool("load-skill", {"name": ""}))
        for text in (told, asked):
            assert "<name>both</name>" in text
            assert "<name>for-models</name>" in text
            assert "for-people" not in text
            assert "for-nobody" not in text


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("spelt", ["{}", "skill://{}", "skill://{}/SKILL.md"])
async def test_models_cannot_load_hidden_skills_by_any_name(mode: Any, spelt: str) -> None:
    async with connected(mode, *ALL) as client:
        for_people, for_nobody = spelt.format("for-people"), spelt.format("for-nobody")
        told = await refusal(client, "load-skill", {"name": for_people})
        assert (
            told
            == f"the skill `{for_people}` is not for models to load; ask the user to start it by its prompt"
        )
        told = await refusal(client, "load-skill", {"name": for_nobody})
        assert told == f"the skill `{for_nobody}` is not for models to load"
        for name in ("both", "for-models"):
            assert not (await client.call_tool("load-skill", {"name": spelt.format(name)})).is_error


@pytest.mark.parametrize("mode", ERAS)
async def test_what_is_hidden_is_not_suggested(mode: Any) -> None:
    async with connected(mode, *ALL) as client:
        told = await refusal(client, "load-skill", {"name": "for-peopl"})
        assert "`for-people`" not in told
        assert "`for-models`" in told
        with pytest.raises(MCPError) as caught:
            await client.get_prompt("skill", {"name": "for-model"})
        assert "`for-models`" not in caught.value.error.message
        assert "`for-people`" in caught.value.error.message


@pytest.mark.parametrize("mode", ERAS)
async def test_only_skills_for_people_have_prompts_and_completions(mode: Any) -> None:
    async with connected(mode, *ALL) as client:
        by_name, *prompts = (await client.list_prompts()).prompts
        found = await client.complete(
            PromptReference(type="ref/prompt", name="skill"), {"name": "name", "value": ""}
        )
        assert by_name.description == "Start a skill by its name. Skills: both, for-people."
        assert [prompt.name for prompt in prompts] == found.completion.values == ["both", "for-people"]
        assert (await client.get_prompt("for-people")).messages
        assert (await client.get_prompt("skill", {"name": "for-people"})).messages


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("name", ["for-models", "for-nobody"])
async def test_people_cannot_start_hidden_skills_by_any_name(mode: Any, name: str) -> None:
    ways: list[tuple[str, dict[str, str] | None]] = [(name, None), (f"skill://{name}", None)]
    ways += [("skill", {"name": each}) for each in (name, f"skill://{name}", f"skill://{name}/SKILL.md")]
    async with connected(mode, *ALL) as client:
        for prompt, arguments in ways:
            with pytest.raises(MCPError, match=r"there is no prompt|is not for people to start") as caught:
                await client.get_prompt(prompt, arguments)
            assert caught.value.error.code == -32602


@pytest.mark.parametrize("mode", ERAS)
async def test_files_of_a_skill_for_people_are_readable(mode: Any) -> None:
    async with connected(mode, *ALL) as client:
        result = await client.call_tool("skill-resource", {"skill": "for-people", "path": "guide.md"})
        assert text_of(result) == "guide\n"
        listed = await client.call_tool("skill-resource", {"skill": "for-people", "path": ""})
    assert "guide.md" in text_of(listed)


@pytest.mark.parametrize("mode", ERAS)
async def test_an_override_opens_and_closes_what_the_frontmatter_says(mode: Any) -> None:
    overrides = {
        "skill://for-people/SKILL.md": Override(assistant=True, user=False),
        "skill://both/SKILL.md": Override(assistant=False),
        "skill://gone/SKILL.md": Override(assistant=True),
    }
    library = await library_of(*ALL)
    await library.set_visibility(VisibilityPolicy(overrides))
    async with Client(skills_server(library), mode=mode) as client:
        assert not (await client.call_tool("load-skill", {"name": "for-people"})).is_error
        assert "is not for models" in await refusal(client, "load-skill", {"name": "both"})
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["skill", "both"]


@pytest.mark.parametrize("mode", ERAS)
async def test_a_hidden_namesake_still_makes_the_name_ambiguous(mode: Any) -> None:
    hidden = skill("two/twin", "disable-model-invocation: true\n")
    async with connected(mode, skill("one/twin"), hidden) as client:
        text = text_of(await client.call_tool("load-skill", {"name": ""}))
        assert text.count("<name>") == 1
        assert "<name>one/twin</name>" in text
        assert not (await client.call_tool("load-skill", {"name": "one/twin"})).is_error


# From the file to the wire


def on_disk(root: Path, *skills: MemorySkill) -> Path:
    for each in skills:
        files = {path: content for path, content in each.files.items() if isinstance(content, bytes)}
        write(root / each.path, dict(files))
    return root


def test_resources_and_the_extension_serve_every_skill(tmp_path: Path) -> None:
    folder, config = on_disk(tmp_path / "skills", *ALL), tmp_path / "config.toml"
    decide(ConfigFile(config), "skill://both/SKILL.md", {"assistant": False, "user": False})
    uris = [f"skill://{each.path}/SKILL.md" for each in sorted(ALL, key=lambda each: each.path)]
    for version in VERSIONS:
        with StdioPeer(version, skillwire("serve", folder, "--config", config)) as peer:
            assert [entry["uri"] for entry in peer.result("skills/list")["skills"]] == uris
            listed = [entry["uri"] for entry in peer.result("resources/list")["resources"]]
            assert listed == [*uris, "skill://index.json"]
            for uri in uris:
                assert peer.result("skills/get", {"uri": uri})["skill"]
                assert peer.result("resources/read", {"uri": uri})["contents"]
            called = peer.result("tools/call", {"name": "load-skill", "arguments": {"name": "both"}})
            assert called["isError"] is True
            assert [prompt["name"] for prompt in peer.result("prompts/list")["prompts"]] == [
                "skill",
                "for-people",
            ]


def test_the_configuration_file_is_followed_unless_told_otherwise(tmp_path: Path) -> None:
    folder, config = on_disk(tmp_path / "skills", BOTH), tmp_path / "config.toml"
    decide(ConfigFile(config), "skill://both/SKILL.md", {"assistant": False})
    call = {"name": "load-skill", "arguments": {"name": "both"}}
    for options, refused in ((["--config", config], True), (["--no-config"], False), ([], False)):
        with HttpServer(folder, "--http", "0", *options) as server:
            peer = HttpPeer(VERSIONS[0], server.url)
            assert peer.result("tools/call", call)["isError"] is refused
            assert ("<name>both</name>" in json.dumps(peer.handshake.get("instructions"))) is not refused
            peer.close()


@pytest.mark.anyio
async def test_edit_that_hides_a_skill_applies_before_rescan(tmp_path: Path) -> None:
    folder = on_disk(tmp_path / "skills", skill("both"))
    library = Library([FolderSource(folder)])
    await library.load()
    features = all_features(library, ServeOptions())
    methods = all_methods(features)
    hidden = "disable-model-invocation: true\nuser-invocable: false\n"
    main = skill("both", hidden).files["SKILL.md"]
    assert isinstance(main, bytes)
    (folder / "both/SKILL.md").write_bytes(main)
    loaded = await methods["tools/call"](Call({"name": "load-skill", "arguments": {"name": "both"}}))
    assert loaded.result["isError"] is True
    with pytest.raises(BadParamsError):
        await methods["prompts/get"](Call({"name": "both"}))
