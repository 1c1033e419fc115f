"""Checks for every client, also without the Skills extension: tools, resources and prompts.

A driver implements `PlainClient` for its client. The checks are the same for all.
"""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Protocol

from driving import Report, Target, contains, same, same_bytes

TOOLS = ("load-skill", "skill-resource")
Content = Sequence[object]
"""One item per block: `str` for text, `bytes` for other data. Anything else fails the check."""


class PlainClient(Protocol):
    """A connected client."""

    async def tools(self) -> Mapping[str, str]:
        """Return the description of each tool by its name, in listed order."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, str]) -> Content:
        """Return what a model gets from a tool, one item for each block of content."""
        ...

    async def refusal(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Return what a model gets from a call that fails. Raises if the call does not fail."""
        ...

    async def resources(self) -> Sequence[str]:
        """Return the URIs of all listed resources."""
        ...

    async def read(self, uri: str) -> bytes: ...

    async def prompts(self) -> Sequence[str]:
        """Return the names of all prompts."""
        ...

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt: that of one embedded resource or of one message."""
        ...


async def check_plainly(client: PlainClient, target: Target, report: Report, prefix: str = "") -> None:
    """Check tools, resources and prompts."""
    await check_tools(client, target, report, prefix)
    await check_resources(client, target, report, prefix)
    await check_prompts(client, target, report, prefix)


async def check_tools(client: PlainClient, target: Target, report: Report, prefix: str = "") -> None:
    async with report.check(f"{prefix}list the tools"):
        tools = await client.tools()
        same(list(tools)[:2], list(TOOLS), "first tools")
        contains([word.strip(".,:;") for word in tools[TOOLS[0]].split()], ["list", "skills", '""'], TOOLS[0])
    async with report.check(f"{prefix}list the skills with a tool"):
        (listing,) = texts(await client.call("load-skill", {"name": ""}))
        missing = [skill["name"] for skill in target.served if skill["name"] not in listing]
        same(missing, [], "skills that the list lacks")
    async with report.check(f"{prefix}load every skill with a tool"):
        for skill in target.served:
            (text,) = texts(await client.call("load-skill", {"name": skill["name"]}))
            same_bytes(text.encode(), skill["files"]["SKILL.md"])
    for title, wanted in (("other files", False), ("JSON files", True)):
        async with report.check(f"{prefix}read {title} with a tool"):
            for skill in target.served:
                for path, file in skill["files"].items():
                    if path.endswith(".json") is wanted:
                        arguments = {"skill": skill["name"], "path": path}
                        (content,) = await client.call("skill-resource", arguments)
                        same_bytes(data_of(content), file)
    async with report.check(f"{prefix}read folders with a tool"):
        skill = target.skill(target.folder["skill"])
        for folder in sorted({PurePosixPath(path).parts[0] for path in skill["files"] if "/" in path}):
            arguments = {"skill": skill["name"], "path": folder}
            same_files(await client.call("skill-resource", arguments), inside(skill, folder))
    async with report.check(f"{prefix}go on after an error"):
        message = await client.refusal("load-skill", {"name": "no-such-skill"})
        if "no-such-skill" not in message:
            raise AssertionError(f"the error does not name the skill: {message!r}")
        (text,) = texts(await client.call("load-skill", {"name": "greeting"}))
        same_bytes(text.encode(), target.skill("greeting")["files"]["SKILL.md"])
    report.support("tools")


async def check_resources(client: PlainClient, target: Target, report: Report, prefix: str = "") -> None:
    async with report.check(f"{prefix}list the resources"):
        contains(await client.resources(), [skill["uri"] for skill in target.served], "resources")
    async with report.check(f"{prefix}read every file"):
        for skill in target.served:
            for file in skill["files"].values():
                same_bytes(await client.read(file["uri"]), file)
    report.support("resources")


async def check_prompts(client: PlainClient, target: Target, report: Report, prefix: str = "") -> None:
    async with report.check(f"{prefix}list the prompts"):
        names = ["skill", *(skill["name"] for skill in target.served)]
        contains(await client.prompts(), names, "prompts")
    async with report.check(f"{prefix}get every prompt"):
        for skill in target.served:
            for name, arguments in ((skill["name"], {}), ("skill", {"name": skill["name"]})):
                text = await client.prompt(name, arguments)
                same_bytes(text.encode(), skill["files"]["SKILL.md"])
    report.support("prompts")


def texts(content: Content) -> list[str]:
    """Return the content of a tool that answers with text only."""
    found = [each for each in content if isinstance(each, str)]
    same(len(found), len(content), "blocks of text")
    return found


def data_of(content: object) -> bytes:
    """Return the bytes of one block of content."""
    if isinstance(content, str):
        return content.encode()
    if not isinstance(content, bytes):
        raise AssertionError(f"neither text nor bytes: {content!r}")  # noqa: TRY004 - it is a check
    return content


def inside(skill: Mapping[str, Any], folder: str) -> dict[str, Any]:
    return {path: file for path, file in skill["files"].items() if path.startswith(f"{folder}/")}


def same_files(content: Content, files: Mapping[str, Any]) -> None:
    """Check what a model gets for a folder: each file has its path in a first line, and the right bytes."""
    found: dict[str, bytes] = {}
    path = ""
    for block in content:
        if isinstance(block, bytes):
            found[path] = block
            continue
        header, _, text = data_of(block).decode().partition("\n")
        if not (header.startswith("--- ") and header.endswith(" ---")):
            raise AssertionError(f"a text does not name its file: {block[:80]!r}")
        path = header.removeprefix("--- ").removesuffix(" ---")
        found[path] = text.encode()
    same(sorted(found), sorted(files), "files of the folder")
    for path, file in files.items():
        same_bytes(found[path], file)
