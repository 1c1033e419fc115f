"""Prompts whose names have parameters, with a client of FastMCP and a server of FastMCP."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from mcp_types import PromptReference

from skillwire import attach
from tests.support.templates import GUIDE, template_skills

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[3]
SERVE = "from tests.support.templates import template_server; template_server().run()"


@pytest.mark.parametrize("server", ["ours", "attached"])
async def test_fastmcp_client_starts_a_prompt_with_parameters(server: str) -> None:
    offered: Any = StdioTransport(sys.executable, ["-c", SERVE], env=dict(os.environ), cwd=str(ROOT))
    if server == "attached":
        offered = FastMCP("theirs")
        attach(offered, template_skills())
    client: Any
    async with Client(offered) as client:
        prompts = {prompt.name: prompt for prompt in await client.list_prompts()}
        assert [(each.name, each.required) for each in prompts[GUIDE].arguments or ()] == [("product", True)]
        (message,) = (await client.get_prompt(GUIDE, {"product": "anvil"})).messages
        assert message.content.resource.text.endswith("# anvil\n")
        reference = PromptReference(type="ref/prompt", name=GUIDE)
        completed = await client.complete(reference, {"name": "product", "value": "r"})
        assert completed.values == ["rocket"]
        with pytest.raises(Exception, match=r"in place of `\{product\}`"):
            await client.get_prompt(GUIDE, {"product": "bomb"})
        loaded = await client.call_tool("load-skill", {"name": "docs/rocket/guide"})
        assert loaded.content[0].text.endswith("# rocket\n")
