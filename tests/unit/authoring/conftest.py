"""Skills that are attached to third-party servers."""

import pytest

from skillwire import LiveSkill, Skill, Skills

REFUNDS = (
    "---\nname: refunds\ndescription: Decides refunds.\nmetadata:\n  team: billing\n---\n\nRead the policy.\n"
)


def refunds() -> Skill:
    return (
        Skill("refunds", REFUNDS)
        .with_path("acme/billing/refunds")
        .with_reference("references/policy.md", "text/markdown", "# Policy\n")
        .with_reference("data/limits.json", "application/json", "{}")
    )


@pytest.fixture
def skills() -> Skills:
    """One skill of each kind: fixed with a prompt, for models only, for people only, and live."""
    return (
        Skills()
        .add(refunds(), prompt="start_refund")
        .add(Skill("for-models", "---\nname: for-models\ndescription: M.\nuser-invocable: false\n---\n"))
        .add(
            Skill(
                "for-people", "---\nname: for-people\ndescription: P.\ndisable-model-invocation: true\n---\n"
            )
        )
        .add(LiveSkill("reports/daily", lambda _request: "# Today\n", description="Reports of the day."))
        .add(
            LiveSkill(
                "docs/{product}/guide",
                lambda request: f"# {request.params['product']}\n",
                description="How to use {product}.",
                values={"product": ["anvil", "rocket"]},
            )
        )
    )
