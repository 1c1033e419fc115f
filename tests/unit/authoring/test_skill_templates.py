"""Skills with parameters: not listed, and readable once the path is filled in."""

import json
from typing import Any
from urllib.parse import quote

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import Library, LiveSkill, Skill, SkillRequest, SkillServer
from skillwire.core.names import root_uri
from skillwire.core.template import SkillTemplate
from skillwire.errors import ConflictError, InvalidValueError
from skillwire.host.dialects.client import ask
from skillwire.sources import PrefixedSource
from tests.support.clients import ERAS

pytestmark = pytest.mark.anyio

PATTERN = "skill://docs/{product}/guide/SKILL.md"


def guides() -> SkillServer:
    server = SkillServer("guides")

    @server.skill(
        "docs/{product}/guide", description="How to use {product}.", values={"product": ["anvil", "rocket"]}
    )
    async def guide(request: SkillRequest) -> str:
        return f"# {request.params['product']}\n"

    @server.skill("users/{user_id}", description="About a user.", values={"user_id": near})
    def user(request: SkillRequest) -> str | None:
        return None if request.params["user_id"] == "nobody" else request.uri

    @server.skill("notes/{topic}/note", description="A note.")
    def note(request: SkillRequest) -> str:
        return f"# {request.params['topic']}\n"

    assert callable(guide)
    assert callable(note)
    assert callable(user)
    return server


def near(typed: str) -> list[str]:
    if typed == "!":
        raise RuntimeError("out of order")
    return [f"{typed}{number}" for number in range(3)]


@pytest.mark.rule("S13")
@pytest.mark.parametrize("mode", ERAS)
async def test_filled_pattern_is_readable_but_not_listed(mode: Any) -> None:
    async with Client(guides().build(), mode=mode) as client:
        assert (await ask(client, "skills/list"))["skills"] == []
        uri = "skill://docs/anvil/guide/SKILL.md"
        assert (await ask(client, "skills/get", uri=uri))["skill"] == {
            "uri": uri,
            "frontmatter": {"name": "guide", "description": "How to use anvil."},
            "resources": "dynamic",
        }
        (block,) = (await client.read_resource(uri)).contents
        assert (
            getattr(block, "text", "") == "---\nname: guide\ndescription: How to use anvil.\n---\n\n# anvil\n"
        )
        resources = (await client.list_resources()).resources
        assert [resource.uri for resource in resources] == ["skill://index.json"]


@pytest.mark.parametrize(
    "uri",
    [
        "skill://docs/bomb/guide/SKILL.md",  # a value that is not among those that there are
        "skill://docs//guide/SKILL.md",
        "skill://docs/anvil/guide/other.md",
        "skill://docs/anvil/x/guide/SKILL.md",
        "skill://docs/anvil%2Fx/guide/SKILL.md",
        "skill://docs/..%2Fanvil/guide/SKILL.md",
        "skill://users/Not A Name/SKILL.md",
        "skill://users/%6eobody/SKILL.md",
        "skill://docs/%61nvil/guide/SKILL.md",  # another spelling of what is served
        "skill://d%6Fcs/anvil/guide/SKILL.md",
        "skill://docs/%7Bproduct%7D/guide/SKILL.md",
        "skill://docs/{product}/guide/SKILL.md",
        "skill://notes/%7Btopic%7D/note/SKILL.md",
        "skill://notes/{topic}/note/SKILL.md",
        "skill://notes/%ff/note/SKILL.md",
        "skill://notes/%c3%a9/note/SKILL.md",  # hexadecimal digits are capitals
        "skill://notes/a%2/note/SKILL.md",
        "http://docs/anvil/guide/SKILL.md",
    ],
)
@pytest.mark.parametrize("mode", ERAS)
async def test_uri_that_matches_no_pattern_is_not_served(mode: Any, uri: str) -> None:
    async with Client(guides().build(), mode=mode) as client:
        for method in ("skills/get", "resources/read"):
            with pytest.raises(MCPError) as refused:
                await ask(client, method, uri=uri)
            assert refused.value.code == -32602


@pytest.mark.parametrize("spelled", ["a+b", "a%2Bb"])
async def test_value_must_be_canonically_encoded(spelled: str) -> None:
    async with Client(guides().build()) as client:
        (block,) = (await client.read_resource(f"skill://notes/{spelled}/note/SKILL.md")).contents
        assert getattr(block, "text", "").endswith("# a+b\n")


async def test_function_can_return_none_for_missing_skill() -> None:
    async with Client(guides().build()) as client:
        with pytest.raises(MCPError, match="no skill is served at") as refused:
            await client.read_resource("skill://users/nobody/SKILL.md")
        assert refused.value.code == -32602
        (block,) = (await client.read_resource("skill://users/ann/SKILL.md")).contents
        assert getattr(block, "text", "").endswith("skill://users/ann/SKILL.md")


@pytest.mark.parametrize("mode", ERAS)
async def test_patterns_are_listed_with_completion_for_their_parameters(mode: Any) -> None:
    async with Client(guides().build(), mode=mode) as client:
        templates = (await client.list_resource_templates()).resource_templates
        assert [(each.uri_template, each.mime_type) for each in templates][:2] == [
            (PATTERN, "text/markdown"),
            ("skill://users/{user_id}/SKILL.md", "text/markdown"),
        ]
        for pattern, name, typed, expected in [
            (PATTERN, "product", "ro", ["rocket"]),
            (PATTERN, "product", "", ["anvil", "rocket"]),
            (PATTERN, "other", "", []),
            ("skill://users/{user_id}/SKILL.md", "user_id", "a", ["a0", "a1", "a2"]),
            ("skill://users/{user_id}/SKILL.md", "user_id", "!", []),  # its failure is nobody's trouble
            ("skill://nobody/{x}/SKILL.md", "x", "", []),
        ]:
            done = await client.complete(
                types.ResourceTemplateReference(uri=pattern), {"name": name, "value": typed}
            )
            assert done.completion.values == expected


async def test_draft_index_contains_patterns() -> None:
    async with Client(guides().build()) as client:
        (block,) = (await client.read_resource("skill://index.json")).contents
        index = json.loads(getattr(block, "text", ""))
        assert index["skills"][0] == {
            "type": "mcp-resource-template",
            "description": "How to use {product}.",
            "url": PATTERN,
        }


async def test_prefix_applies_to_patterns() -> None:
    server = guides()
    (source,) = server._finished().library.sources  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    library = Library([PrefixedSource(source, "acme/team")])
    await library.load()
    assert library.catalog.templates[0].uri == "skill://acme/team/docs/{product}/guide/SKILL.md"
    reading = await library.read("skill://acme/team/docs/rocket/guide/SKILL.md")
    assert reading.content.endswith(b"# rocket\n")
    assert (await library.skill("skill://acme/team/docs/rocket/guide/SKILL.md")).name == "guide"


def text_of(request: SkillRequest) -> str:
    return request.uri


def pattern(path: str, **values: list[str]) -> LiveSkill:
    return LiveSkill(path, text_of, description="d", values=values)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pattern("d/{a}/g"), pattern("d/{b}/g")),
        (pattern("d/{a}/g", a=["x"]), pattern("d/{b}/g", b=["y"])),
    ],
)
def test_same_pattern_with_other_parameter_names_is_conflict(first: LiveSkill, second: LiveSkill) -> None:
    with pytest.raises(ConflictError, match=r"is `d/\{a\}/g` with another name for a parameter"):
        SkillServer("x").add(first, second).build()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pattern("{a}/{b}"), pattern("d/{b}")),
        (pattern("{a}/{b}", a=["d", "e"]), pattern("d/{b}")),
    ],
)
def test_unreachable_pattern_is_a_conflict(first: LiveSkill, second: LiveSkill) -> None:
    with pytest.raises(ConflictError, match="is never reached, because"):
        SkillServer("x").add(first, second).build()


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("docs", pattern("docs/{b}/guide")),
        ("docs/anvil", pattern("docs/{b}/guide")),
        ("docs/anvil", pattern("docs/{b}/guide", b=["anvil", "rocket"])),
    ],
)
def test_pattern_inside_folder_of_skill_is_conflict(outer: str, inner: LiveSkill) -> None:
    name = outer.rpartition("/")[2]
    fixed = Skill(name, f"---\nname: {name}\ndescription: x\n---\n").with_path(outer)
    with pytest.raises(ConflictError, match=f"is below `{outer}`, which must list all its files"):
        SkillServer("x").add(inner, fixed).build()


def test_overlapping_patterns_are_allowed_if_each_is_reachable() -> None:
    fixed = Skill("bomb", "---\nname: bomb\ndescription: x\n---\n").with_path("docs/bomb")
    SkillServer("x").add(
        pattern("d/{b}"),
        pattern("{a}/{b}"),  # what is more general stands behind
        pattern("{a}/{b}/c", a=["e"]),
        pattern("d/{b}/c"),
        pattern("docs/{b}/guide", b=["anvil"]),
        fixed,  # and no value leads below it
    ).build()


def test_braces_are_reserved_for_parameters() -> None:
    with pytest.raises(InvalidValueError):
        SkillTemplate("docs/{x", "d", "l", "docs/{x")
    with pytest.raises(InvalidValueError, match="without braces"):
        SkillTemplate("docs/{x}", "d", "l", "docs/{x}", values={"x": ["{x}"]})
    assert SkillTemplate("é/{x}", "d", "l", "é/{x}").uri == "skill://%C3%A9/{x}/SKILL.md"


values = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/\\{}"), min_size=1
).filter(lambda text: text not in {".", ".."})


@given(values)
def test_every_valid_value_round_trips(value: str) -> None:
    template = SkillTemplate("docs/{product}/guide", "About {product}.", "code", "docs/{product}/guide")
    uri = f"skill://docs/{quote(value, safe='')}/guide/SKILL.md"
    assert template.match(uri) == {"product": value}
    entry = template.entry(uri)
    assert entry is not None
    assert entry.description == f"About {value}."
    assert entry.uri == uri
    ours = f"{root_uri(['docs', value, 'guide'])}/SKILL.md"
    assert template.match(ours) == {"product": value}


@given(st.text(max_size=40))
def test_no_uri_makes_pattern_matching_fail(uri: str) -> None:
    template = SkillTemplate("{a}/{b}", "d", "code", "{a}/{b}")
    for each in (uri, f"skill://{uri}", f"skill://{uri}/SKILL.md"):
        template.entry(each)
