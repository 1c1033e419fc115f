"""What one surface lists, every surface accepts, under exactly that name."""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference

from skillwire.authoring.source import CodeSource
from skillwire.cli.find import TemplateFoundError, find_in
from skillwire.cli.list import catalog_rows, print_catalog
from skillwire.errors import UsageError
from skillwire.library.library import Library
from skillwire.server import skills_server
from tests.support.clients import ERAS, ask
from tests.support.templates import catalog_library, code_source

pytestmark = [pytest.mark.anyio, pytest.mark.rule("S17")]

names = st.sampled_from(["review", "deploy", "skill", "guide"])
folders = st.sampled_from(["ops", "acme", "team", "mine"])
paths = st.tuples(st.lists(folders, max_size=2, unique=True), names).map(
    lambda path: "/".join([*path[0], path[1]])
)
values = st.lists(st.sampled_from(["one", "two", "three"]), min_size=1, max_size=2, unique=True)
templates = st.dictionaries(
    st.sampled_from(["docs/{product}/guide", "kb/{area}", "{team}/x/{kind}/review"]),
    values,
    max_size=2,
)


@st.composite
def code_sources(draw: st.DrawFn) -> list[CodeSource]:
    labels = draw(st.lists(st.sampled_from(["team", "mine", "ops"]), unique=True, min_size=1, max_size=3))
    chosen: list[CodeSource] = []
    for label in labels:
        own = draw(st.lists(paths, unique=True, max_size=4))
        outer = [path for path in own if not any(path.startswith(f"{other}/") for other in own)]
        patterns = draw(templates)
        known = {
            path: {part[1:-1]: given_values for part in path.split("/") if part.startswith("{")}
            for path, given_values in patterns.items()
        }
        chosen.append(code_source(label, outer, known))
    return chosen


def listed_by_command(library: Library) -> list[str]:
    """Return the first column of `skillwire list`."""
    with redirect_stdout(io.StringIO()) as out:
        print_catalog(library.catalog)
    return [line.split("\t")[0] for line in out.getvalue().splitlines()]


def listed_for_models(text: str) -> list[str]:
    return [part.partition("</name>")[0] for part in text.split("<name>")[1:]]


async def completed(client: Client, typed: str) -> list[str]:
    reference = PromptReference(type="ref/prompt", name="skill")
    done = await client.complete(reference, {"name": "name", "value": typed})
    return done.completion.values


async def instances(client: Client, template: str) -> list[str]:
    """Complete a template one parameter at a time, as a person does who presses Tab."""
    found, pending = list[str](), [template.partition("{")[0]]
    while pending:
        typed = pending.pop()
        for value in await completed(client, typed):
            if not value.startswith(typed) or "{" in value or value == typed:
                continue
            if value.endswith("/"):
                pending.append(value)
            elif value.count("/") == template.count("/"):  # else it is a skill of another kind
                found.append(value)
    return found


@settings(max_examples=25, deadline=None)
@given(code_sources(), st.sampled_from(ERAS))
def test_every_listed_name_loads_one_skill_on_every_surface(sources: list[CodeSource], mode: str) -> None:
    anyio.run(_check_names, sources, mode)


async def _check_names(sources: Sequence[CodeSource], mode: str) -> None:
    library = await catalog_library(*sources)
    listed, rows = listed_by_command(library), catalog_rows(library.catalog)
    assert len(set(listed)) == len(listed) == len(rows)
    assert not any("://" in name for name in listed)
    async with Client(skills_server(library), mode=mode) as client:
        (block,) = (await client.call_tool("load-skill", {"name": ""})).content
        assert listed_for_models(getattr(block, "text", "")) == listed
        skills = [name for name, row in zip(listed, rows, strict=True) if row["type"] != "template"]
        assert (await completed(client, ""))[: len(skills)] == skills
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts} - {"skill"}
        assert len(prompts) == len(listed)
        for name, row in zip(listed, rows, strict=True):
            if row["type"] != "template":
                await _check_loads(client, library, name, str(row["uri"]))
                # A skill with the name of our own prompt has another one.
                (prompt,) = [name] if name in prompts else prompts - set(listed)
                (message,) = (await client.get_prompt(prompt)).messages
                assert message.content.resource.uri == row["uri"]  # type: ignore[union-attr]
                continue
            assert name in prompts
            with pytest.raises(TemplateFoundError):
                find_in(library, name)
            path = name.partition(":")[2] or name
            for instance in await instances(client, path):
                await _check_loads(client, library, instance, None)


async def _check_loads(client: Client, library: Library, name: str, uri: str | None) -> None:
    """Check that a name means the same skill for models, for people, on the command line and as a URI."""
    entry = find_in(library, name).whole(name).entry
    assert uri in {None, entry.uri}
    (read,) = (await ask(client, "resources/read", uri=entry.uri))["contents"]
    assert (await ask(client, "skills/get", uri=entry.uri))["skill"]["uri"] == entry.uri
    for tool, arguments in (
        ("load-skill", {"name": name}),
        ("skill-resource", {"skill": name, "path": "SKILL.md"}),
    ):
        (block,) = (await client.call_tool(tool, arguments)).content
        assert getattr(block, "text", "") == read["text"], (tool, name)
    (message,) = (await client.get_prompt("skill", {"name": name})).messages
    assert message.content.resource.text == read["text"]  # type: ignore[union-attr]
    if not entry.dynamic:
        (block,) = (await client.call_tool("load-skill", {"name": f"{name}/a.md"})).content
        (file,) = (await client.read_resource(entry.uri_of("a.md"))).contents
        assert getattr(block, "text", "") == getattr(file, "text", None)


async def test_completion_of_a_template_reaches_every_known_skill() -> None:
    known = {"team": ["one", "two"], "kind": ["a", "b"]}
    library = await catalog_library(code_source("code", ["other"], {"{team}/x/{kind}/review": known}))
    async with Client(skills_server(library)) as client:
        found = await instances(client, "{team}/x/{kind}/review")
        assert sorted(found) == [f"{team}/x/{kind}/review" for team in ("one", "two") for kind in ("a", "b")]


@settings(max_examples=25, deadline=None)
@given(code_sources())
def test_ambiguous_name_lists_names_that_load(sources: list[CodeSource]) -> None:
    anyio.run(_check_ambiguous, sources)


async def _check_ambiguous(sources: Sequence[CodeSource]) -> None:
    library = await catalog_library(*sources)
    async with Client(skills_server(library)) as client:
        for name in {entry.name for entry in library.catalog.entries.values()} - set(
            listed_by_command(library)
        ):
            result = await client.call_tool("load-skill", {"name": name})
            assert result.is_error
            told = getattr(result.content[0], "text", "")
            _, _, handles = told.partition("use one of: ")
            with pytest.raises(UsageError):
                find_in(library, name)
            with pytest.raises(MCPError) as caught:
                await client.get_prompt("skill", {"name": name})
            assert caught.value.error.message == told
            for handle in handles.split(", "):
                assert not (await client.call_tool("load-skill", {"name": handle.strip("`")})).is_error


@settings(max_examples=25, deadline=None)
@given(code_sources(), code_sources())
def test_further_sources_keep_names_prompts_and_completions(
    one: list[CodeSource], others: list[CodeSource]
) -> None:
    anyio.run(_check_kept, one[0], [each for each in others if each.label != one[0].label])


async def _check_kept(first: CodeSource, others: Sequence[CodeSource]) -> None:
    alone, together = await catalog_library(first), await catalog_library(first, *others)
    async with Client(skills_server(alone)) as before, Client(skills_server(together)) as after:
        for name in listed_by_command(alone):
            assert name in listed_by_command(together)
            if "{" in name:
                continue
            results = [await each.call_tool("load-skill", {"name": name}) for each in (before, after)]
            assert results[0].content == results[1].content
            assert not results[0].is_error
        prompts = [
            [each.name for each in (await client.list_prompts()).prompts] for client in (before, after)
        ]
        assert set(prompts[0]) <= set(prompts[1])
        assert not any("://" in name for name in prompts[1])
        problems = [problem for problem in together.catalog.problems if problem.rule == "name-shared"]
        moved = [problem for problem in problems if " means " in problem.message]
        assert len({problem.message for problem in moved}) == len(moved)
