"""The three servers of the tutorial, started for real: what they list, and what can be read."""

import ast
import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.examples.servers import SERVERS, SKILLS, listed, read, started
from tests.support.clients import ERAS, ask

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("mode", ERAS)

EXAMPLES = ["hello_world.py", "refunds.py", "code_mode.py"]


@every_era
async def test_hello_world_serves_the_one_document_that_everybody_knows(mode: Any) -> None:
    async with started("hello_world.py", mode) as client:
        assert await listed(client) == ["skill://hello-world/SKILL.md"]
        mime_type, content = await read(client, "skill://hello-world/SKILL.md")
        (skill,) = (await ask(client, "skills/list"))["skills"]
    assert mime_type == "text/markdown"
    assert content == (SKILLS / "hello-world/SKILL.md").read_bytes()
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert (len(content), digest[:15], digest[-4:]) == (172, "sha256:a5777e88", "d43d")
    assert skill["resources"] == [{"uri": "skill://hello-world/SKILL.md", "digest": digest, "size": 172}]


@every_era
async def test_the_policy_of_refunds_is_readable_and_not_listed(mode: Any) -> None:
    policy = "skill://acme/billing/refunds/references/policy.md"
    async with started("refunds.py", mode) as client:
        assert await listed(client) == ["skill://acme/billing/refunds/SKILL.md"]
        assert policy not in [each.uri for each in (await client.list_resources()).resources]
        mime_type, content = await read(client, policy)
    assert mime_type == "text/markdown"
    assert content.startswith(b"# What is refunded\n")


@every_era
async def test_code_mode_is_tools_resources_and_a_prompt(mode: Any) -> None:
    folder = SKILLS / "code-mode"
    async with started("code_mode.py", mode) as client:
        own, ours = ["validate_code", "execute_code"], ["load-skill", "skill-resource", "search-skills"]
        assert [each.name for each in (await client.list_tools()).tools] == [*own, *ours]
        assert await listed(client) == ["skill://code-mode/SKILL.md"]
        found = {path: await read(client, f"skill://code-mode/{path}") for path in FILES}
        prompts = {each.name: each for each in (await client.list_prompts()).prompts}
        assert list(prompts) == ["skill", "start_code_mode", "code-mode"]
        prompt = prompts["start_code_mode"]
        got = await client.get_prompt("start_code_mode")
    assert {path: (mime_type, content) for path, (mime_type, content) in found.items()} == {
        path: (mime_type, (folder / path).read_bytes()) for path, mime_type in FILES.items()
    }
    assert prompt.meta is not None
    assert prompt.meta["dev.skillwire/skill"] == "skill://code-mode/SKILL.md"
    assert prompt.meta["dev.skillwire/resources"] == [f"skill://code-mode/{path}" for path in FILES]
    (message,) = got.messages
    assert (message.role, getattr(message.content, "text", None)) == ("user", stitched(folder))


FILES = {
    "SKILL.md": "text/markdown",
    "references/example.py": "text/x-python",
    "references/policy.md": "text/markdown",
    "references/validate-code.schema.json": "application/json",
}


def stitched(folder: Path) -> str:
    """Return what a prompt of this skill says; all of its files end in a newline."""
    first, *others = FILES
    text = (folder / first).read_text("utf-8")
    return text + "".join(f"\n--- {path} ---\n{(folder / path).read_text('utf-8')}" for path in others)


@pytest.mark.parametrize("example", EXAMPLES)
async def test_an_example_runs_wherever_it_is_started(example: str, tmp_path: Path) -> None:
    async with started(example, "auto", cwd=tmp_path) as client:
        assert len(await listed(client)) == 1


@pytest.mark.parametrize(("example", "lines"), [("hello_world.py", 3), ("refunds.py", 4)])
def test_an_author_writes_three_and_four_lines(example: str, lines: int) -> None:
    module = ast.parse((SERVERS / example).read_text("utf-8"))
    texts = {"HELLO_WORLD", "REFUNDS", "POLICY"}
    written = [
        inner
        for outer in module.body
        if not isinstance(outer, ast.Import | ast.ImportFrom)
        for inner in (outer.body if isinstance(outer, ast.If) else [outer])
        if not (isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Constant))
        if not (isinstance(inner, ast.Assign) and getattr(inner.targets[0], "id", "") in texts)
    ]
    assert len(written) == lines
    assert all(each.lineno == each.end_lineno for each in written)
