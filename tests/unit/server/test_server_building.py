"""Surfaces become a server: what they declare, what they refuse, what their failures look like outside."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from skillwire import FolderSource, Library
from skillwire.errors import ConflictError
from skillwire.features.base import Answer, Call, Feature, Method
from skillwire.features.extension import ExtensionFeature
from skillwire.features.resources import ResourcesFeature
from skillwire.server import skills_server
from skillwire.server.build import build_server
from tests.support.liars import Liar
from tests.support.skills import write_skill

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ["legacy", "auto"])]


async def library(root: Path) -> Library:
    write_skill(root, "one")
    found = Library([FolderSource(root)])
    await found.load()
    return found


class Broken(Feature):
    """Fails in a way that nobody foresaw."""

    name = "broken"

    def methods(self) -> Mapping[str, Method]:
        return {"resources/list": self.fail, "resources/read": self.fail}

    async def fail(self, _call: Call) -> Answer:
        raise RuntimeError("the password is hunter2")


@pytest.mark.rule("S20")
async def test_instructions_may_name_skill_uris(tmp_path: Path, mode: Any) -> None:
    text = "Start with skill://one/SKILL.md"
    async with Client(skills_server(await library(tmp_path), instructions=text), mode=mode) as client:
        assert client.instructions is not None
        assert client.instructions.startswith(f"{text}\n\n")
        assert "<location>skill://one/SKILL.md</location>" in client.instructions


@pytest.mark.rule("S1")
async def test_only_existing_features_are_declared(tmp_path: Path, mode: Any) -> None:
    skills = await library(tmp_path)
    server = build_server([ExtensionFeature(skills), ResourcesFeature(skills)], name="x", version="1")
    async with Client(server, mode=mode) as client:
        assert client.server_capabilities.extensions == {"io.modelcontextprotocol/skills": {}}
        assert client.server_capabilities.resources is not None
        assert client.server_capabilities.tools is None
        assert client.server_capabilities.prompts is None


async def test_two_features_with_the_same_method_are_refused(tmp_path: Path, mode: Any) -> None:
    del mode
    skills = await library(tmp_path)
    with pytest.raises(ConflictError, match="`resources/list` is answered by both `resources` and `broken`"):
        build_server([ResourcesFeature(skills), Broken()], name="x", version="1")


@pytest.mark.rule("S14")
async def test_unexpected_error_does_not_leak_its_message(
    mode: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(build_server([Broken()], name="x", version="1"), mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_resources()
    assert caught.value.error.code == -32603
    assert "hunter2" not in str(caught.value)
    assert "hunter2" in caplog.text


@pytest.mark.rule("S14", "S19")
async def test_bytes_that_never_match_are_an_internal_error(tmp_path: Path, mode: Any) -> None:
    async def lie(content: bytes) -> bytes:
        return content + b"!"

    write_skill(tmp_path, "one")
    skills = Library([Liar(FolderSource(tmp_path), lie)])
    await skills.load()
    async with Client(skills_server(skills), mode=mode) as client:
        with pytest.raises(MCPError, match="changed while it was read; list the skills again") as caught:
            await client.read_resource("skill://one/SKILL.md")
    assert caught.value.error.code == -32603
