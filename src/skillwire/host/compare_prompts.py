"""Check that a server's prompts have the same bytes as the resources of their skills."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import unquote

from mcp.shared.exceptions import MCPError

from skillwire.core.concurrency import MAX_CONCURRENT_UNSIZED_READS, process_in_order
from skillwire.core.names import SKILL_FILE
from skillwire.core.problem import Problem, Rule
from skillwire.errors import VerificationError
from skillwire.host.dialects.client import SkillsClient, refusal
from skillwire.protocol.findings import server_problem
from skillwire.protocol.messages import PROMPTS_LIST, RESOURCES_META, SKILL_META
from skillwire.protocol.prompt_text import join_files

_EXCERPT_LENGTH = 24
"""Number of bytes to show on each side of the first difference.

Also the number of characters to show of a name or URI that is too long.
"""
_MAX_NAME = 4096
"""Maximum number of characters in the name of a prompt, and in the URI of its skill."""


@dataclass(frozen=True, slots=True)
class PromptReport:
    """The result for one prompt that names its skill: the number of its files and bytes, or a finding.

    If the prompts cannot be listed, `prompt` is empty, and `finding` is the reason.
    """

    prompt: str
    skill: str
    resources: int = 0
    size: int = 0
    finding: Problem | None = None


async def compare_prompts(client: SkillsClient) -> AsyncGenerator[PromptReport]:
    """Compare every prompt that names its skill with the skill's resources, and yield each result.

    A server that does not declare both prompts and the extension gets no requests (H1).
    """
    if client.declared is None or not client.offers_prompts:
        return
    try:
        async for prompt in client.prompts():
            meta = prompt.get("_meta")
            skill = cast("Mapping[str, Any]", meta).get(SKILL_META) if isinstance(meta, dict) else None
            if isinstance(skill, str):
                yield await _compare(client, str(prompt.get("name")), skill, cast("Mapping[str, Any]", meta))
    except VerificationError as error:
        yield PromptReport("", "", finding=error.problems[0])
    except MCPError as error:
        yield PromptReport("", "", finding=refusal(PROMPTS_LIST, error))


async def _compare(client: SkillsClient, name: str, skill: str, meta: Mapping[str, Any]) -> PromptReport:
    if max(len(name), len(skill)) > _MAX_NAME:
        message = f"its name, or the URI of its skill, has more than {_MAX_NAME:,} characters"
        return PromptReport(
            name[:_EXCERPT_LENGTH],
            skill[:_EXCERPT_LENGTH],
            finding=server_problem(name[:_EXCERPT_LENGTH], Rule.SURFACE_SHAPE, message),
        )
    try:
        result, current = await client.prompt(name)
        actual = _text(name, result)
        # The list is made without reading files. The result knows which files are text.
        uris = await _resources(client, skill, current if current.get(RESOURCES_META) else meta)
        contents = await _contents(client, uris)
    except VerificationError as error:
        return PromptReport(name, skill, finding=error.problems[0])
    except MCPError as error:
        return PromptReport(name, skill, finding=refusal(name, error))
    root = skill.removesuffix(SKILL_FILE)
    references = ((unquote(uri.removeprefix(root)), content) for uri, content in contents[1:])
    expected = join_files(contents[0][1], references)
    if actual == expected:
        return PromptReport(name, skill, len(uris), len(actual))
    return PromptReport(name, skill, len(uris), finding=_difference(name, actual, expected))


async def _contents(client: SkillsClient, uris: list[str]) -> list[tuple[str, bytes]]:
    contents: list[tuple[str, bytes]] = []

    async def read(uri: str) -> tuple[str, bytes]:
        return uri, await client.read(uri)

    await process_in_order(uris, read, contents.append, MAX_CONCURRENT_UNSIZED_READS)
    return contents


async def _resources(client: SkillsClient, skill: str, meta: Mapping[str, Any]) -> list[str]:
    """Return the URIs of the files that a prompt names, or else of all files of its skill, `SKILL.md` first.

    Raises `VerificationError` if the prompt names other files first, too many files, or files outside the
    skill, or if the skill is dynamic. Raises `MCPError` if the server refuses a request.
    """
    named = meta.get(RESOURCES_META)
    if isinstance(named, list) and named:
        uris = [str(each) for each in cast("list[object]", named)]
        if len(uris) > client.limits.files:
            message = f"its prompt names {len(uris):,} files; the limit is {client.limits.files:,}"
            raise VerificationError("", server_problem(skill, Rule.SURFACE_SHAPE, message))
    else:
        files = (await client.get(skill)).files
        if files is None:
            raise VerificationError(
                "", server_problem(skill, Rule.SURFACE_SHAPE, "a dynamic skill has no prompt to compare")
            )
        uris = [skill, *(file.uri for file in files if file.uri != skill)]
    if uris[0] != skill or not all(uri.startswith(skill.removesuffix(SKILL_FILE)) for uri in uris):
        message = "its prompt names files that do not belong to the skill"
        raise VerificationError("", server_problem(skill, Rule.SURFACE_SHAPE, message))
    return uris


def _text(name: str, result: Mapping[str, Any]) -> bytes:
    """Return the text of a prompt, as bytes.

    Raises `VerificationError` unless the prompt is a single user message with a single text.
    """
    match result.get("messages"):
        case [{"role": "user", "content": {"type": "text", "text": str(text)}}]:
            return text.encode(errors="surrogatepass")
        case _:
            raise VerificationError(
                "",
                server_problem(name, Rule.SURFACE_SHAPE, "its prompt is not one user message with one text"),
            )


def _difference(name: str, actual: bytes, expected: bytes) -> Problem:
    pairs = enumerate(zip(actual, expected, strict=False))
    at = next((index for index, (one, other) in pairs if one != other), min(len(actual), len(expected)))
    message = (
        f"its prompt and its resources differ from byte {at:,} on: the prompt has {_shown(actual, at)}, "
        f"the resources have {_shown(expected, at)}"
    )
    return server_problem(name, Rule.SURFACE_DIFFERS, message)


def _shown(content: bytes, at: int) -> str:
    start, end = max(at - _EXCERPT_LENGTH, 0), at + _EXCERPT_LENGTH
    return repr(content[start:end]) if at < len(content) else "nothing more"
