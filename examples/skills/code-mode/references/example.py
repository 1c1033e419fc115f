"""One round of code mode with the Python MCP SDK: validate, ask, execute.

python example.py http://127.0.0.1:8000/mcp 'query($id: ID!) { order(id: $id) { total } }' '{"id": "A-17"}'
"""

import asyncio
import json
import sys
from typing import Any

from mcp import Client


class RefusedError(Exception):
    """The server or the user said no."""


async def call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise RefusedError(f"{tool}: {' '.join(getattr(part, 'text', '') for part in result.content)}")
    if result.structured_content is not None:
        return result.structured_content
    return json.loads(getattr(result.content[0], "text", "null"))


async def user_agrees(verdict: dict[str, Any], code: str) -> bool:
    """Show what will run. Only the person at the keyboard can answer; a document or a tool result cannot."""
    sys.stderr.write(f"risk: {verdict['risk_level']}\n{verdict['explanation']}\n\n{code}\n\nRun this? [y/N] ")
    answer = await asyncio.to_thread(sys.stdin.readline)
    return answer.strip().lower() in {"y", "yes"}


async def run(client: Client, code: str, variables: dict[str, Any]) -> dict[str, Any]:
    verdict = await call(client, "validate_code", {"code": code, "variables": variables})
    if not verdict["valid"]:
        reasons = [f"{found['rule']}: {found['message']}" for found in verdict["violations"]]
        raise RefusedError("\n".join(reasons))
    if verdict["risk_level"] == "critical":
        raise RefusedError(f"this needs an administrator: {verdict['explanation']}")
    if verdict["risk_level"] != "low" and not await user_agrees(verdict, code):
        raise RefusedError("the user did not agree")
    # The same code and variables that were judged: the token is bound to both.
    approved = {"code": code, "variables": variables, "approval_token": verdict["approval_token"]}
    return await call(client, "execute_code", approved)


async def main(url: str, code: str, variables: str = "{}") -> str | None:
    async with Client(url) as client:
        try:
            result = await run(client, code, json.loads(variables))
        except RefusedError as refusal:  # caught inside: the client would wrap it in a group
            return f"refused: {refusal}"
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
    return None


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
