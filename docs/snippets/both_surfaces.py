import anyio

from skillwire import Skill, SkillServer

CODE_MODE = """---
name: code-mode
description: Runs code in two calls, so that nothing runs before it was approved.
---

Call `validate_code`, ask the user, then call `execute_code` with the same code.
"""

code_mode = (
    Skill("code-mode", CODE_MODE)
    .with_reference("policy.md", "text/markdown", "Whatever shows people needs a yes.")
    .with_reference("verdict.schema.json", "application/json", '{"required": ["valid"]}\n')
    .with_reference("example.py", "text/x-python", 'print("validate, ask, execute")\n')
)
server = SkillServer("code-mode-demo")
server.add(code_mode, prompt="start_code_mode")  # every file is a resource, and all of them are the prompt


async def main() -> None:
    (message,) = await server.get_prompt("start_code_mode")
    assert message["content"] == {"type": "text", "text": code_mode.prompt_text()}
    assert code_mode.prompt_text() == (
        CODE_MODE
        + "\n--- policy.md ---\nWhatever shows people needs a yes.\n"
        + '\n--- verdict.schema.json ---\n{"required": ["valid"]}\n'
        + '\n--- example.py ---\nprint("validate, ask, execute")\n'
    )


anyio.run(main)
