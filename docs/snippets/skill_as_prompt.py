import anyio

from skillwire import Skill, SkillServer

REVIEW = """---
name: review
description: Reviews a change. Use before it is merged.
---

Read the change, then go through `checklist.md`.
"""

review = Skill("review", REVIEW).with_reference("checklist.md", "text/markdown", "- Are there tests?\n")
server = SkillServer("review-demo")
server.add(review, prompt="start_review")


async def main() -> None:
    (message,) = await server.get_prompt("start_review")
    assert message["content"] == {"type": "text", "text": review.prompt_text()}
    assert review.prompt_text() == REVIEW + "\n--- checklist.md ---\n- Are there tests?\n"


anyio.run(main)
