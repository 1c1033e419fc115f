"""Skills written in code: values are checked when created, and resources and prompts agree."""

import base64
import hashlib
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from skillwire import Skill, SkillReference, Skills, SkillServer
from skillwire.authoring.source import CodeSource
from skillwire.errors import BadParamsError, ConflictError, InvalidValueError, NotServedError, UsageError
from tests.support.clients import ERAS, ask

HELLO_WORLD = """---
name: hello-world
description: Demonstrates the simplest possible MCP skill
---

# Hello World Skill

When the user greets the agent, respond warmly and offer to help.
"""
REFUNDS = "---\nname: refunds\ndescription: Refunds.\n---\n"


def code_mode() -> Skill:
    return (
        Skill("code-mode", "---\nname: code-mode\ndescription: Runs code.\n---\n# Code mode\n")
        .with_reference("references/grammar.md", "text/markdown", "# Grammar")
        .with_reference("schema.json", "application/json", "{}\n")
        .with_reference("limits.txt", "text/plain", b"100\n")
    )


def demo() -> SkillServer:
    server = SkillServer("skills-demo", version="0.1.0", every_client=False)
    server.add(Skill("hello-world", HELLO_WORLD))
    server.add(Skill("refunds", REFUNDS).with_path("acme/billing/refunds"))
    return server.add(code_mode(), prompt="start_code_mode")


def test_hello_world_has_the_documented_bytes() -> None:
    content = Skill("hello-world", HELLO_WORLD).content
    assert len(content) == 172
    digest = hashlib.sha256(content).hexdigest()
    assert (digest[:8], digest[-4:]) == ("a5777e88", "d43d")


def test_skill_is_immutable() -> None:
    skill = Skill("refunds", REFUNDS)
    moved = (
        skill.with_path("acme/refunds").with_description("Other.").with_reference("a.md", "text/plain", "a")
    )
    assert (skill.path, skill.description, skill.references) == ("refunds", "Refunds.", ())
    assert (moved.path, moved.description) == ("acme/refunds", "Other.")
    assert moved.uri == "skill://acme/refunds/SKILL.md"
    assert list(moved.uris()) == ["skill://acme/refunds/SKILL.md", "skill://acme/refunds/a.md"]
    with pytest.raises(AttributeError):
        skill.name = "x"  # pyright: ignore[reportAttributeAccessIssue] - that is the point


@pytest.mark.parametrize(
    "path",
    [
        *(
            "",
            "\0",
            "a\0b",
            "SKILL.md",
            "skill.MD",
            "..",
            "a/../b",
            "./a",
            "a/.",
            "a//b",
            "/a",
            "a/",
            "x://y",
        ),
        *("a\\b", "a?b", "a#b", "a\nb", "a\x7fb"),
    ],
)
def test_invalid_reference_path_error_names_rule_and_fix(path: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        Skill("refunds", REFUNDS).with_reference(path, "text/plain", "x")
    assert refused.value.value == path
    assert refused.value.rule
    assert refused.value.fix
    with pytest.raises(InvalidValueError):
        SkillReference(path, "text/plain", "x")


def test_duplicate_reference_path_is_refused() -> None:
    skill = Skill("refunds", REFUNDS).with_reference("a.md", "text/plain", "x")
    with pytest.raises(InvalidValueError, match="is taken in this skill"):
        skill.with_reference("a.md", "text/plain", "y")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A.md", "a.md"),
        ("caf\u00e9.md", "cafe\u0301.md"),
        ("stra\u00dfe.md", "STRASSE.md"),
        ("x", "x/y"),
        ("x/y", "x"),
        ("X/y/z", "x/Y"),
    ],
)
def test_clashing_reference_paths_are_refused(first: str, second: str) -> None:
    skill = Skill("refunds", REFUNDS).with_reference(first, "text/plain", "x")
    with pytest.raises(InvalidValueError, match="give each file a different path") as refused:
        skill.with_reference(second, "text/plain", "y")
    assert refused.value.value == second
    assert f"`{first}`" in refused.value.rule
    with pytest.raises(InvalidValueError, match="a file cannot be a folder as well"):
        skill.with_reference("skill.md/x", "text/plain", "y")


@pytest.mark.parametrize(
    "mime_type", ["", None, "text", "text/", "/x", "text/\n", "text/plain\n", "a/b/c", "a/b;c"]
)
def test_invalid_mime_type_is_refused(mime_type: Any) -> None:
    with pytest.raises(InvalidValueError, match="write it as in `text/markdown`"):
        SkillReference("a.md", mime_type, "x")


@pytest.mark.parametrize(
    "mime_type", ["image/svg+xml", "text/plain; charset=utf-8", 'text/markdown;variant="GF M"', "x/vnd.a-b_c"]
)
def test_mime_type_may_have_parameters(mime_type: str) -> None:
    assert SkillReference("a.md", mime_type, "x").mime_type == mime_type


@pytest.mark.parametrize(
    "path", ["", "acme", "acme/", "/acme/refunds", "acme//refunds", "../refunds", "a#/refunds"]
)
def test_invalid_skill_path_is_refused_with_suggestion(path: str) -> None:
    with pytest.raises(InvalidValueError) as refused:
        Skill("refunds", REFUNDS).with_path(path)
    assert "`team/topic/refunds`" in str(refused.value)


@pytest.mark.parametrize("name", ["", "Refunds", "a_b", "-a", "a--b", "a" * 65])
def test_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidValueError):
        Skill(name, "# Body")


def test_frontmatter_with_another_name_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="write `name: refunds`"):
        Skill("refunds", HELLO_WORLD)


def test_every_duplicate_uri_is_reported_at_once() -> None:
    server = SkillServer("x")
    one = Skill("a", "---\nname: a\ndescription: x\n---\n").with_reference("r.md", "text/plain", "x")
    server.add(one, one, Skill("b", "b"), Skill("b", "b"))
    with pytest.raises(ConflictError) as conflict:
        server.build()
    assert str(conflict.value).startswith("3 URIs are used twice: ")
    for uri in ("skill://a/SKILL.md", "skill://a/r.md", "skill://b/SKILL.md"):
        assert f"`{uri}`" in str(conflict.value)

    with pytest.raises(ConflictError, match=r"^1 URI is used twice: "):
        Skills().add(Skill("b", "b"), Skill("b", "b")).check()


def test_every_file_that_two_skills_claim_is_reported_at_once() -> None:
    outer = Skill("outer", "---\nname: outer\ndescription: x\n---\n")
    inner = Skill("inner", "---\nname: inner\ndescription: x\n---\n").with_path("outer/inner")
    for path in ("a.md", "b.md"):
        outer = outer.with_reference(f"inner/{path}", "text/plain", "x")
        inner = inner.with_reference(path, "text/plain", "y")
    with pytest.raises(ConflictError) as conflict:
        SkillServer("x").add(outer, inner).build()
    assert str(conflict.value).startswith("2 URIs are used twice: ")
    for path in ("a.md", "b.md"):
        assert f"`skill://outer/inner/{path}`" in str(conflict.value)


def test_collections_can_be_merged() -> None:
    both = Skills().add(code_mode(), prompt="start").merge(Skills().add(Skill("refunds", REFUNDS)))
    assert [skill.name for skill in both] == ["code-mode", "refunds"]
    with pytest.raises(InvalidValueError, match="is in both"):
        both.merge(Skills().add(code_mode(), prompt="start"))
    with pytest.raises(InvalidValueError, match="already exists"):
        both.add(Skill("other", "x"), prompt="start")
    with pytest.raises(InvalidValueError, match="is for one skill"):
        Skills().add(Skill("a", "x"), Skill("b", "x"), prompt="p")


def test_conflicting_prompts_are_refused() -> None:
    one, other = Skill("a", "x"), Skill("b", "x")
    for added, told in [
        ([Skills().add(one)], "is for one skill, not for a collection"),
        ([one, Skills().add(other)], "is for one skill, not for a collection"),
        ([one, other], "is for one skill; "),
        ([], "is for one skill; "),
    ]:
        with pytest.raises(InvalidValueError, match=told):
            SkillServer("x").add(*added, prompt="p")


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        ("folder", r"`Skill\.from_dir`"),
        (Path("folder"), r"`Skill\.from_dir`"),
        ([Skill("a", "x")], r"write a `\*` before it"),
        (None, "pass a `Skill`"),
    ],
)
def test_adding_something_else_than_a_skill_is_refused(value: Any, fix: str) -> None:
    for add in (SkillServer("x").add, Skills().add):
        with pytest.raises(InvalidValueError, match=fix):
            add(value)
    with pytest.raises(InvalidValueError, match="with `merge`"):
        Skills().add(Skills())  # pyright: ignore[reportArgumentType] - that is the point


def test_prompt_text_joins_document_and_references() -> None:
    assert Skill("x", "A").with_reference("ref1.md", "text/plain", "refbody").prompt_text() == (
        "A\n\n--- ref1.md ---\nrefbody\n"
    )
    assert Skill("x", "").prompt_text() == "\n"
    assert Skill("x", "A\r\n").prompt_text() == "A\r\n"


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
async def test_mime_type_of_reference_is_kept_in_reads(mode: str) -> None:
    skill = Skill("refunds", REFUNDS).with_reference("schema.txt", "application/graphql", "type Query\n")
    async with Client(SkillServer("x").add(skill).build(), mode=mode) as client:
        (block,) = (await client.read_resource("skill://refunds/schema.txt")).contents
    assert (block.mime_type, getattr(block, "text", "")) == ("application/graphql", "type Query\n")


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
async def test_other_description_is_shown_and_frontmatter_is_listed(mode: str) -> None:
    skill = Skill("refunds", REFUNDS).with_description("Other.")
    async with Client(SkillServer("x").add(skill, prompt="start").build(), mode=mode) as client:
        (listed,) = (await ask(client, "skills/list"))["skills"]
        assert listed["frontmatter"] == {"name": "refunds", "description": "Refunds."}
        described = {each.name: each.description for each in (await client.list_prompts()).prompts}
        assert (described["start"], described["refunds"]) == ("Other.", "Other.")
        assert "<description>Other.</description>" in (client.instructions or "")


def test_prompt_with_binary_file_is_refused() -> None:
    skill = Skill("x", "A").with_reference("logo.png", "image/png", b"\x89PNG")
    with pytest.raises(InvalidValueError, match=r"`logo\.png` is not UTF-8"):
        SkillServer("x").add(skill, prompt="p")


def test_importing_authoring_does_not_load_the_sdk() -> None:
    script = "import sys; from skillwire import Skill, Skills, SkillReference; print('mcp' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout == b"False\n"
    )


@pytest.mark.anyio
async def test_server_answers_in_process_without_transport() -> None:
    server = demo()
    listed = await server.list_resources()
    assert [each["uri"] for each in listed] == [
        "skill://hello-world/SKILL.md",
        "skill://acme/billing/refunds/SKILL.md",
        "skill://code-mode/SKILL.md",
        "skill://index.json",
    ]
    (read,) = await server.read("skill://code-mode/schema.json")
    assert read == {"uri": "skill://code-mode/schema.json", "mimeType": "application/json", "text": "{}\n"}
    (message,) = await server.get_prompt("start_code_mode")
    assert message["content"] == {"type": "text", "text": code_mode().prompt_text()}
    with pytest.raises(NotServedError):
        await server.read("skill://nobody/SKILL.md")
    with pytest.raises(BadParamsError, match="did you mean `start_code_mode`"):
        await server.get_prompt("start_code")
    with pytest.raises(ConflictError, match="the server is built"):
        server.add(Skill("late", "x"))


@pytest.mark.anyio
async def test_in_process_listing_covers_all_pages() -> None:
    server = SkillServer("many").add(*(Skill(f"s{number}", "x") for number in range(150)))
    uris = [each["uri"] for each in await server.list_resources()]
    assert uris[:150] == [f"skill://s{number}/SKILL.md" for number in range(150)]
    assert len(set(uris)) == len(uris)


@pytest.mark.anyio
async def test_missing_items_are_errors_on_empty_server() -> None:
    for server in (SkillServer("empty"), SkillServer("without-prompts").add(Skill("a", "x"))):
        with pytest.raises(BadParamsError, match="there is no prompt `zzz`"):
            await server.get_prompt("zzz")
        with pytest.raises(NotServedError):
            await server.read("skill://nobody/SKILL.md")
    assert await SkillServer("empty").list_resources() == []


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
async def test_server_built_in_code_serves_like_any_other(mode: str) -> None:
    server = demo()
    await server.list_resources()
    async with Client(server.build(), mode=mode) as client:
        assert client.server_capabilities.extensions == {
            "io.modelcontextprotocol/skills": {"directoryRead": True}
        }
        (prompt,) = (await client.list_prompts()).prompts
        assert (prompt.name, prompt.description) == ("start_code_mode", "Runs code.")
        assert prompt.meta == {
            "dev.skillwire/skill": "skill://code-mode/SKILL.md",
            "dev.skillwire/resources": list(code_mode().uris()),
        }
        got = await client.get_prompt("start_code_mode", {"ignored": "yes"})
        assert getattr(got.messages[0].content, "text", "") == code_mode().prompt_text()
        with pytest.raises(MCPError):
            await client.read_resource("skill://code-mode/none.md")


@pytest.mark.anyio
async def test_document_without_frontmatter_is_only_a_resource() -> None:
    plain = Skill("plain", "# Just text\n").with_description("Shown.")
    server = SkillServer("x").add(plain, prompt="plain").add(Skill("refunds", REFUNDS))
    listed = await server.list_resources()
    assert [each["uri"] for each in listed][:2] == ["skill://plain/SKILL.md", "skill://refunds/SKILL.md"]
    (read,) = await server.read("skill://plain/SKILL.md")
    assert read["text"] == "# Just text\n"
    built = server.build()
    async with Client(built, mode="auto") as client:
        problems = (await client.read_resource("skillwire://problems")).contents[0]
        assert "in no list of skills" in getattr(problems, "text", "")
        got = await client.get_prompt("plain")
        assert got.description == "Shown."


@pytest.mark.anyio
async def test_files_of_nested_skill_belong_to_outer_skill() -> None:
    outer = Skill("outer", "---\nname: outer\ndescription: x\n---\n")
    inner = Skill("inner", "---\nname: inner\ndescription: x\n---\n").with_path("outer/inner")
    server = SkillServer("x").add(outer, inner.with_reference("a.md", "text/plain", "a"))
    await server.list_resources()
    entries = {entry.name: entry for entry in _catalog(server)}
    assert [file.path for file in entries["outer"].files] == ["SKILL.md", "inner/SKILL.md", "inner/a.md"]
    assert [file.path for file in entries["inner"].files] == ["SKILL.md", "a.md"]


def test_clash_with_file_of_nested_skill_is_refused() -> None:
    outer = Skill("outer", "---\nname: outer\ndescription: x\n---\n")
    inner = Skill("inner", "---\nname: inner\ndescription: x\n---\n").with_path("outer/inner")
    for path, below in [("inner/A.md", "a.md"), ("inner", "a.md")]:
        server = SkillServer("x").add(
            outer.with_reference(path, "text/plain", "x"), inner.with_reference(below, "text/plain", "x")
        )
        with pytest.raises(InvalidValueError, match="give each file a different path"):
            server.build()


def _catalog(server: SkillServer) -> Any:
    return server._finished().library.catalog.entries.values()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("skill", "told"),
    [
        (Skill("large", b"x" * (16 * 1024 * 1024 + 1)), "the limit is 16,777,216 bytes per skill"),
        (
            Skill(
                "large",
                "x",
                references=tuple(SkillReference(f"{number}.md", "text/plain", "x") for number in range(512)),
            ),
            "has 513 files; the limit is 512 files per skill",
        ),
    ],
)
def test_oversized_skill_is_refused_when_building_server(skill: Skill, told: str) -> None:
    with pytest.raises(InvalidValueError, match=told):
        SkillServer("x").add(skill, prompt="p").build()
    with pytest.raises(InvalidValueError, match=told):
        CodeSource(Skills().add(skill))


def test_server_without_skills_declares_none() -> None:
    async def ask() -> None:
        async with Client(SkillServer("empty").build(), mode="legacy") as client:
            assert client.server_capabilities.resources is None

    anyio.run(ask)


def test_public_address_requires_a_token() -> None:
    with pytest.raises(UsageError, match="can be reached from other machines"):
        demo().run(http="0.0.0.0:0")


bodies = st.one_of(st.binary(max_size=60), st.text(st.characters(exclude_categories=("Cs",)), max_size=60))
segments = st.from_regex(r"[a-zA-Z0-9é ._-]{1,8}", fullmatch=True).filter(lambda s: s.strip(".") != "")
paths = st.lists(segments, min_size=1, max_size=3).map("/".join).filter(lambda p: p.lower() != "skill.md")
references = st.lists(st.tuples(paths, bodies), max_size=4, unique_by=lambda each: each[0]).filter(
    lambda files: _apart([path.lower() for path, _ in files])
)


def _apart(paths: list[str]) -> bool:
    """Whether files at these paths can exist together."""
    files = ["skill.md", *paths]
    return len(set(files)) == len(files) and not any(
        f"{b}/".startswith(f"{a}/") for a, b in permutations(files, 2)
    )


@given(body=bodies, files=references)
def test_joined_reads_equal_the_prompt(body: str | bytes, files: list[tuple[str, str | bytes]]) -> None:
    anyio.run(_compare, body, files)


async def _compare(body: str | bytes, files: list[tuple[str, str | bytes]]) -> None:
    try:
        skill = Skill("x", body)
        for path, content in files:
            skill = skill.with_reference(path, "text/plain", content)
        server = SkillServer("x").add(skill, prompt="p")
        listed = await server.list_resources()
    except (InvalidValueError, ConflictError):
        assert any(_is_binary(each) for each in (body, *(content for _, content in files))) or _named(body)
        return
    stitched = b""
    for number, uri in enumerate(skill.uris()):
        (block,) = await server.read(uri)
        raw = base64.b64decode(block["blob"]) if "blob" in block else block["text"].encode()
        if number:
            stitched += f"\n--- {files[number - 1][0]} ---\n".encode()
        stitched += raw if raw.endswith(b"\n") else raw + b"\n"
    (message,) = await server.get_prompt("p")
    assert message["content"]["text"].encode() == stitched
    uris = {each["uri"] for each in listed}
    assert uris & set(skill.uris()) == {skill.uri}  # references are readable, and never listed


def _is_binary(body: str | bytes) -> bool:
    try:
        _ = body.decode() if isinstance(body, bytes) else body
    except UnicodeDecodeError:
        return True
    return False


def _named(body: str | bytes) -> bool:
    return b"name:" in (body.encode() if isinstance(body, str) else body)


SCRIPT = """
from skillwire import Skill
from skillwire import SkillServer
server = SkillServer("skills-demo")
server.add(Skill("x", "A").with_reference("ref1.md", "text/plain", "refbody"), prompt="p")
server.run()
"""


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ERAS)
async def test_resources_and_prompts_agree_over_stdio(mode: str) -> None:
    async with Client(
        StdioServerParameters(command=sys.executable, args=["-c", SCRIPT]), mode=mode
    ) as client:
        got = await client.get_prompt("p")
        assert getattr(got.messages[0].content, "text", "") == "A\n\n--- ref1.md ---\nrefbody\n"
        (block,) = (await client.read_resource("skill://x/ref1.md")).contents
        assert getattr(block, "text", "") == "refbody"
