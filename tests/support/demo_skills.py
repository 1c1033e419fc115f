"""Skills as a team would have them: for the screenshots, and for tests that want a lived-in server."""

from pathlib import Path

from tests.support.skills import write

REFUNDS = """---
name: refunds
description: Decides and prepares refunds for subscriptions. Use when a customer asks for money back.
license: Apache-2.0
metadata:
  team: billing
  version: "2.1"
---

# Refunds

Check the **policy** first, then prepare the refund. A person approves what is above the limit.

1. Find the invoice, and how old it is.
2. Read the [policy](references/policy.md) for the plan that the customer has.
3. Prepare the refund; above €200, ask for approval.

| plan | within | refund |
|---|---|---|
| monthly | 14 days | all of it |
| yearly | 30 days | the months that are left |

```sh
python scripts/prepare.py --invoice INV-1042
```

> Never promise a date: banks take up to ten days.
"""

_DESCRIPTIONS = {
    "engineering/code-review": "Reviews a change for correctness, clarity and tests. Use before a merge.",
    "engineering/incident-report": "Writes the report of an incident from its timeline. Use after an outage.",
    "engineering/release-notes": "Turns merged changes into release notes that users understand.",
    "engineering/sql-style": "Writes and formats SQL the way our warehouse wants it. Use for every query.",
    "finance/expense-check": "Checks expense reports against the travel policy, line by line.",
    "finance/forecast": "Builds a twelve-month revenue forecast from the ledger's export.",
    "finance/invoices": "Finds, explains and corrects invoices. Use for questions about a bill.",
    "people/interview-guide": "Prepares interview questions for a role, and a sheet to score the answers.",
    "people/onboarding": "Plans the first two weeks of a new colleague, from accounts to first tasks.",
    "support/escalation": "Decides whether a ticket goes to engineering, and writes the hand-over.",
    "support/tone": "Keeps answers to customers short, warm and in plain words.",
    "writing/meeting-notes": "Makes decisions and open questions out of a transcript.",
    "writing/plain-english": "Rewrites text so that everybody understands it at the first reading.",
}


def write_demo(root: Path) -> Path:
    """Write a folder of skills, one of which is broken; return it."""
    policy = "# Policy\n\nBack to [the skill](../SKILL.md), or to [its script](../scripts/prepare.py).\n"
    files: dict[str, bytes | str] = {
        "finance/refunds/SKILL.md": REFUNDS,
        "finance/refunds/references/policy.md": policy,
        "finance/refunds/scripts/prepare.py": "print('prepared')\n",
        "finance/refunds/assets/form.pdf": b"%PDF-1.7\n\x00\xff" * 400,
        "support/Old Macros/SKILL.md": "---\nname: Old Macros\ndescription: x\n---\n",
    }
    for path, description in _DESCRIPTIONS.items():
        name = path.rpartition("/")[2]
        more = "user-invocable: false\n" if name == "sql-style" else ""
        body = f"# {name.replace('-', ' ').capitalize()}\n\n{description}\n"
        files[f"{path}/SKILL.md"] = f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}"
    return write(root, files)
