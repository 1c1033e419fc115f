"""Convert resources, templates, prompts and tools from Skillwire's features to FastMCP components."""

import base64
from collections.abc import Mapping
from typing import Any, cast

import mcp_types as types
from fastmcp.exceptions import PromptError, ResourceError
from fastmcp.prompts.base import Message, Prompt, PromptArgument, PromptResult
from fastmcp.resources.base import Resource, ResourceContent, ResourceResult
from fastmcp.resources.template import ResourceTemplate
from fastmcp.server.dependencies import get_context
from fastmcp.tools.base import Tool, ToolResult
from mcp.shared.exceptions import MCPError
from pydantic import AnyUrl, PrivateAttr

from skillwire.errors import NotServedError, RequestError, SkillwireError
from skillwire.features.base import Call, Method
from skillwire.protocol.messages import EXTENSION


def supports_skills() -> bool:
    """Return whether the client of the current FastMCP request declares the Skills extension."""
    try:
        return get_context().client_supports_extension(EXTENSION)
    except RuntimeError:  # outside a request
        return False


class SkillResource(Resource):
    """A resource of the attached skills: a file of a skill, a document about skills, or contract metadata."""

    _target: tuple[Method, str] = PrivateAttr()
    """The method that reads the resource, and its original URI. FastMCP may publish it under another URI."""

    @classmethod
    def of(cls, item: Mapping[str, Any], read: Method) -> "SkillResource":
        """Return the resource that `resources/list` describes as `item`, in FastMCP's own fields."""
        meta: Mapping[str, Any] = item.get("_meta") or {}
        resource = cls(
            uri=AnyUrl(item["uri"]),
            name=item["name"],
            title=item.get("title"),
            description=item.get("description"),
            mime_type=item.get("mimeType"),  # pyright: ignore[reportArgumentType] - FastMCP takes None
            version=meta.get("version"),  # what the repository contract registers
            tags=set(meta.get("tags", ())),
            icons=[types.Icon.model_validate(icon) for icon in item.get("icons", ())] or None,
            meta=dict(meta) or None,
        )
        resource._target = read, item["uri"]
        return resource

    async def read(self) -> ResourceResult:
        return await _read(*self._target)


class SkillTemplates(ResourceTemplate):
    """A URI template of the attached skills, such as the template for all files."""

    _target: tuple[Method, str] = PrivateAttr()

    @classmethod
    def of(cls, item: Mapping[str, Any], read: Method) -> "SkillTemplates":
        """Return the template that `resources/templates/list` describes as `item`."""
        template = cls(
            uri_template=item["uriTemplate"],
            name=item["name"],
            description=item.get("description"),
            mime_type=item.get("mimeType", "text/plain"),
            parameters={},
        )
        template._target = read, item["uriTemplate"]
        return template

    async def _read(self, uri: str, params: dict[str, Any]) -> ResourceResult:  # noqa: ARG002 - the URI has the values
        return await _read(self._target[0], uri)


async def _read(read: Method, uri: str) -> ResourceResult:
    try:
        answer = await read(Call({"uri": uri}))
    except NotServedError as error:
        raise MCPError(types.INVALID_PARAMS, str(error), {"uri": error.uri}) from error
    except SkillwireError as error:
        raise ResourceError(str(error)) from error
    blocks = cast("list[dict[str, Any]]", answer.result["contents"])
    return ResourceResult([_content(block) for block in blocks])


def _content(block: Mapping[str, Any]) -> ResourceContent:
    content = block["text"] if "text" in block else base64.b64decode(block["blob"])
    return ResourceContent(content, mime_type=block["mimeType"], meta=block.get("_meta"))


class SkillPrompt(Prompt):
    """A prompt with which a person starts a skill."""

    _target: tuple[Method, str] = PrivateAttr()

    @classmethod
    def of(cls, item: Mapping[str, Any], get: Method) -> "SkillPrompt":
        """Return the prompt that `prompts/list` describes as `item`."""
        prompt = cls(
            name=item["name"],
            description=item.get("description"),
            arguments=[PromptArgument(**argument) for argument in item.get("arguments", ())],
            meta=item.get("_meta"),
        )
        prompt._target = get, item["name"]
        return prompt

    async def render(self, arguments: dict[str, Any] | None = None) -> PromptResult:
        get, name = self._target
        try:
            answer = await get(Call({"name": name, "arguments": arguments or {}}))
        except RequestError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from error
        except SkillwireError as error:
            raise PromptError(str(error)) from error
        result = types.GetPromptResult.model_validate(answer.result)
        messages = [Message(each.content, each.role) for each in result.messages]
        return PromptResult(messages, description=result.description)


class SkillTool(Tool):
    """A tool of the attached skills, such as `load-skill`."""

    _target: tuple[Method, str] = PrivateAttr()

    @classmethod
    def of(cls, item: Mapping[str, Any], call: Method) -> "SkillTool":
        """Return the tool that `tools/list` describes as `item`."""
        tool = cls(
            name=item["name"],
            description=item.get("description"),
            parameters=item["inputSchema"],
            output_schema=item.get("outputSchema"),
            annotations=types.ToolAnnotations.model_validate(item["annotations"]),
        )
        tool._target = call, item["name"]
        return tool

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        call, name = self._target
        answer = await call(Call({"name": name, "arguments": arguments}, supports_skills=supports_skills()))
        return ToolResult.from_mcp_result(types.CallToolResult.model_validate(answer.result))
