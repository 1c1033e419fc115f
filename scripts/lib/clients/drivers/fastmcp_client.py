"""FastMCP's client: the Skills extension, its older utilities for skills, and tools, resources and prompts.

For 4.1 and 4.2. The extension needs protocol 2026-07-28. The rest is checked with both protocols.
"""

import base64
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from driving import Report, Target, contains, drive, same, same_bytes
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from fastmcp.skills import SkillsClientExtension
from fastmcp.utilities.skills import download_skill, get_skill_manifest, list_skills, sync_skills
from plainly import Content, check_plainly

warnings.simplefilter("ignore", DeprecationWarning)  # 4.2 deprecates the utilities, but they must still work
ERAS = {"2026-07-28": "auto", "2025-11-25": "legacy"}


class Plain:
    """FastMCP's client as a plain client."""

    def __init__(self, client: Client[Any]) -> None:
        self._client = client

    async def tools(self) -> Mapping[str, str]:
        return {tool.name: tool.description or "" for tool in await self._client.list_tools()}

    async def call(self, tool: str, arguments: Mapping[str, str]) -> Content:
        result = await self._client.call_tool(tool, dict(arguments))
        return [content_of(block) for block in result.content]

    async def refusal(self, tool: str, arguments: Mapping[str, str]) -> str:
        try:
            await self._client.call_tool(tool, dict(arguments))
        except ToolError as error:
            return str(error)
        raise AssertionError("the call did not fail")

    async def resources(self) -> Sequence[str]:
        return [str(resource.uri) for resource in await self._client.list_resources()]

    async def read(self, uri: str) -> bytes:
        (content,) = await self._client.read_resource(uri)
        return data_of(content)

    async def prompts(self) -> Sequence[str]:
        return [prompt.name for prompt in await self._client.list_prompts()]

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        (message,) = (await self._client.get_prompt(name, dict(arguments))).messages
        found = content_of(message.content)
        assert isinstance(found, str)
        return found


def content_of(block: Any) -> str | bytes:
    """Return the text or the bytes of a block of content."""
    if block.type == "text":
        return block.text
    return block.resource.text if hasattr(block.resource, "text") else data_of(block.resource)


def data_of(content: Any) -> bytes:
    return content.text.encode() if hasattr(content, "text") else base64.b64decode(content.blob)


def connection(target: Target, mode: str) -> Client[Any]:
    if target.transport == "http":
        transport: Any = StreamableHttpTransport(target.url)
    else:
        log = target.scratch / "server.log"
        command, *arguments = target.command
        transport = StdioTransport(command, arguments, env=target.env, keep_alive=False, log_file=log)
    return Client(transport, mode=mode, extensions=[SkillsClientExtension()])


async def check_extension(client: Client[Any], target: Target, report: Report, prefix: str) -> None:
    async with report.check(f"{prefix}list the skills"):
        found = await client.list_skills()
        same(
            sorted(each.uri for each in found), sorted(each["uri"] for each in target.listed), "listed skills"
        )
    async with report.check(f"{prefix}get every skill"):
        for skill in target.listed:
            entry = await client.get_skill(skill["uri"])
            wanted = {
                file["uri"]: (f"sha256:{file['sha256']}", file["size"]) for file in skill["files"].values()
            }
            same({file.uri: (file.digest, file.size) for file in entry.resources}, wanted, skill["uri"])
    report.support("list", "get")


async def check_whole_skills(client: Any, target: Target, report: Report, prefix: str) -> None:
    """Since 4.2 the client reads a whole skill and checks every digest and the frontmatter."""
    async with report.check(f"{prefix}list the skills among the resources"):
        found = [str(resource.uri) for resource in await client.list_skill_resources()]
        same(sorted(found), sorted(skill["uri"] for skill in target.served), "skills among the resources")
    async with report.check(f"{prefix}read whole skills"):
        for skill in target.skills:
            folder = target.scratch / prefix.strip() / "read" / skill["path"]
            folder.parent.mkdir(parents=True, exist_ok=True)
            (await client.read_skill(skill["uri"])).to_directory(folder)
            same_tree(folder, skill)
    async with report.check(f"{prefix}read whole skills with ambiguous YAML"):
        for skill in target.ambiguous:
            same((await client.read_skill(skill["uri"])).name, skill["name"], "name")
    report.support("read")


async def check_utilities(client: Client[Any], target: Target, report: Report, prefix: str) -> None:
    paths = [skill["path"] for skill in target.served]
    async with report.check(f"{prefix}utilities: list_skills"):
        contains([skill.name for skill in await list_skills(client)], paths, "skills")
    async with report.check(f"{prefix}utilities: get_skill_manifest"):
        for skill in target.served:
            manifest = await get_skill_manifest(client, skill["path"])
            wanted = {
                path: (file["size"], f"sha256:{file['sha256']}") for path, file in skill["files"].items()
            }
            same(manifest.name, skill["name"], "name")
            same({file.path: (file.size, file.hash) for file in manifest.files}, wanted, skill["path"])
    async with report.check(f"{prefix}utilities: download_skill"):
        for skill in target.skills:
            folder = target.scratch / prefix.strip() / "download"
            same_tree(await download_skill(client, skill["path"], folder), skill)
    async with report.check(f"{prefix}utilities: sync_skills"):
        folder = target.scratch / prefix.strip() / "sync"
        same(len(await sync_skills(client, folder)), len(target.served), "downloaded skills")
        for skill in target.served:
            same_tree(folder / skill["path"], skill)
    report.support("download")


def same_tree(folder: Path, skill: Mapping[str, Any]) -> None:
    """Compare the files in a folder with those of a skill."""
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    same(sorted(found), sorted(skill["files"]), f"files of {skill['path']}")
    for path, file in skill["files"].items():
        same_bytes((folder / path).read_bytes(), file)


async def body(target: Target, report: Report) -> None:
    for protocol, mode in ERAS.items():
        prefix = f"{protocol} "
        async with report.check(f"{prefix}connect"), connection(target, mode) as client:
            same(client.protocol_version, protocol, "protocol")
            if mode != "legacy":
                await check_extension(client, target, report, prefix)
            if hasattr(client, "read_skill"):
                await check_whole_skills(client, target, report, prefix)
            await check_utilities(client, target, report, prefix)
            await check_plainly(Plain(client), target, report, prefix)
        report.support(f"protocol {protocol}")


drive(body, lambda _: version("fastmcp-slim"))
