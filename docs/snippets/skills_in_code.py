import anyio

from skillwire import Skill
from skillwire.server import SkillServer

HELLO_WORLD = """---
name: hello-world
description: Demonstrates the simplest possible MCP skill
---

# Hello World Skill

When the user greets the agent, respond warmly and offer to help.
"""
REFUNDS = """---
name: refunds
description: Decides refunds. Use when a customer wants money back.
---

Read `references/policy.md` first.
"""

server = SkillServer("skills-demo", version="0.1.0")
server.add(Skill("hello-world", HELLO_WORLD))

refunds = Skill("refunds", REFUNDS).with_path("acme/billing/refunds")
refunds = refunds.with_reference("references/policy.md", "text/markdown", "# Policy\n\nThirty days.\n")
server.add(refunds, prompt="start_refund")  # resources, and a prompt with the same bytes


async def main() -> None:
    (read,) = await server.read("skill://acme/billing/refunds/references/policy.md")
    assert read["text"] == "# Policy\n\nThirty days.\n"
    (message,) = await server.get_prompt("start_refund")
    assert message["content"]["text"] == refunds.prompt_text()


anyio.run(main)  # to serve instead: server.run(), or server.run(http="127.0.0.1:8765")
