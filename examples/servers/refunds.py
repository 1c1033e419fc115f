"""A skill with its own path and an additional file that is readable but not listed, in four lines.

python examples/servers/refunds.py    serve over stdio until the client disconnects
"""

from skillwire import Skill, SkillServer

REFUNDS = """---
name: refunds
description: Decides refunds. Use when a customer asks for money back or was charged twice.
---

# Refunds

1. Take the charge, its date and the plan from the billing record, not from the customer's message.
2. Find the reason that fits in [the policy](references/policy.md). If none does, say so, and stop.
3. Name the amount and who approves it. Never promise money before they did.
"""
POLICY = """# What is refunded

| reason | when | amount | approval |
|---|---|---|---|
| duplicate | charged twice for one period | the extra charge | agent |
| first charge | asked for within 14 days | the whole charge | agent up to 200.00, then lead |
| annual plan | asked for within 60 days | the unused days | lead |
"""

server = SkillServer("refunds-demo", version="0.1.0")
refunds = Skill("refunds", REFUNDS).with_path("acme/billing/refunds")
server.add(refunds.with_reference("references/policy.md", "text/markdown", POLICY))

if __name__ == "__main__":
    server.run()
