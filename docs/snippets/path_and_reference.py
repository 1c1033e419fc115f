import anyio

from skillwire import Skill, SkillServer

REFUNDS = """---
name: refunds
description: Decides refunds. Use when a customer asks for money back.
---

Find the reason in `references/policy.md`. If none fits, say so, and stop.
"""
POLICY = "# Policy\n\nA first charge is refunded within 14 days.\n"

server = SkillServer("refunds-demo")
refunds = Skill("refunds", REFUNDS).with_path("acme/billing/refunds")
server.add(refunds.with_reference("references/policy.md", "text/markdown", POLICY))


async def main() -> None:
    listed = [resource["uri"] for resource in await server.list_resources()]
    assert "skill://acme/billing/refunds/SKILL.md" in listed

    (policy,) = await server.read("skill://acme/billing/refunds/references/policy.md")
    assert (policy["mimeType"], policy["text"]) == ("text/markdown", POLICY)


anyio.run(main)
