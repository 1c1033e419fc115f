"""fast-agent: its skill registry, which installs skills over MCP, and an agent that uses a server."""

import base64
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from driving import Report, Target, drive, same, same_bytes
from fast_agent import FastAgent
from fast_agent.skills import SkillRegistry
from fast_agent.skills.mcp_source import McpSkillSource
from plainly import Content, check_plainly

SERVER = "skills"
SOURCE = ".skill-source.json"  # fast-agent adds this file to each installed skill


class Plain:
    """An agent as a plain client."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent

    async def tools(self) -> Mapping[str, str]:
        tools = (await self._agent.list_tools()).tools
        return {tool.name.removeprefix(f"{SERVER}__"): tool.description or "" for tool in tools}

    async def call(self, tool: str, arguments: Mapping[str, str]) -> Content:
        result = await self._agent.call_tool(f"{SERVER}__{tool}", dict(arguments))
        if result.is_error:
            raise AssertionError(f"the call failed: {result.content!r}")
        return [content_of(block) for block in result.content]

    async def refusal(self, tool: str, arguments: Mapping[str, str]) -> str:
        result = await self._agent.call_tool(f"{SERVER}__{tool}", dict(arguments))
        if not result.is_error:
            raise AssertionError("the call did not fail")
        return result.content[0].text

    async def resources(self) -> Sequence[str]:
        return (await self._agent.list_resources())[SERVER]

    async def read(self, uri: str) -> bytes:
        (content,) = (await self._agent.get_resource(uri, server_name=SERVER)).contents
        return content.text.encode() if hasattr(content, "text") else base64.b64decode(content.blob)

    async def prompts(self) -> Sequence[str]:
        return [prompt.name for prompt in (await self._agent.list_prompts())[SERVER]]

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        (message,) = (await self._agent.get_prompt(name, dict(arguments), server_name=SERVER)).messages
        found = content_of(message.content)
        assert isinstance(found, str)
        return found


def content_of(block: Any) -> str | bytes:
    if block.type == "text":
        return block.text
    found = block.resource
    return found.text if hasattr(found, "text") else base64.b64decode(found.blob)


async def check_registry(agent: Any, target: Target, report: Report) -> None:
    async with report.check("list the registry"):
        (registry,) = await agent.aggregator.list_mcp_skill_registries()
        found = sorted(skill.uri for skill in registry.skills)
        same(found, sorted(skill["uri"] for skill in target.listed), "skills of the registry")
    folder = target.scratch / "installed"
    async with report.check("install every skill"):
        source = McpSkillSource(aggregator=agent.aggregator, registry=registry)
        for skill in target.skills:
            result = await source.install_skill(skill["uri"], destination_root=folder)
            same_install(result.skill_dir, skill, await Plain(agent).read(skill["uri"]))
    async with report.check("load every installed skill"):
        manifests, errors = SkillRegistry.load_directory_with_errors(folder)
        same(errors, [], "errors")
        names = sorted(manifest.name for manifest in manifests)
        same(names, sorted(skill["name"] for skill in target.skills), "installed skills")
    async with report.check("install skills with ambiguous YAML"):
        for skill in target.ambiguous:
            result = await source.install_skill(skill["uri"], destination_root=folder)
            same_install(result.skill_dir, skill, await Plain(agent).read(skill["uri"]))
    report.support("list", "get", "download")


def same_install(folder: Path, skill: Mapping[str, Any], document: bytes) -> None:
    """Check an installed skill. fast-agent removes `allowed-tools`, because a server may not grant tools."""
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    same(sorted(found), sorted([*skill["files"], SOURCE]), f"files of {skill['path']}")
    for path, file in skill["files"].items():
        data = (folder / path).read_bytes()
        if path == "SKILL.md" and b"\nallowed-tools:" in document:
            same(data.count(b"allowed-tools"), 0, "times that allowed-tools is there")
        else:
            same_bytes(data, file)


def configuration(target: Target) -> Path:
    """Write fast-agent's configuration file as JSON, which is valid YAML."""
    if target.transport == "http":
        server: dict[str, Any] = {"transport": "http", "url": target.url}
    else:
        command, *arguments = target.command
        server = {"transport": "stdio", "command": command, "args": arguments, "env": target.env}
    quiet = {"type": "none", "progress_display": False, "show_chat": False, "show_tools": False}
    values = {"default_model": "passthrough", "logger": quiet, "mcp": {"servers": {SERVER: server}}}
    path = target.scratch / "fastagent.config.yaml"
    path.write_text(json.dumps(values), "utf-8")
    return path


async def body(target: Target, report: Report) -> None:
    fast = FastAgent("works-with", config_path=str(configuration(target)), parse_cli_args=False, quiet=True)

    @fast.agent("reader", servers=[SERVER], model="passthrough")
    async def reader() -> None: ...

    async with report.check("connect"), fast.run() as agents:
        agent = agents["reader"]
        await check_registry(agent, target, report)
        await check_plainly(Plain(agent), target, report)


drive(body, lambda _: version("fast-agent-mcp"))
