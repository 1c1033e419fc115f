"""Apify's `mcpc`, which does not know the Skills extension: resources, tools and prompts."""

import base64
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from driving import Report, Target, contains, drive, has, npm_version, program, same, same_bytes

PACKAGE = "@apify/mcpc"
SESSION = "@skills"
AT_ONCE = 3


async def body(target: Target, report: Report) -> None:
    mcpc = (target.node, target.environment / "node_modules" / PACKAGE / "bin/mcpc")

    def ask(*arguments: str) -> Any:
        done = program(*mcpc, "--json", *arguments)
        same(done.returncode, 0, f"exit code of {arguments}, after {done.stderr.decode()[-500:]!r}")
        return json.loads(done.stdout)

    def read(file: dict[str, Any]) -> None:
        (content,) = ask(SESSION, "resources-read", file["uri"])["contents"]
        blob = content.get("blob")
        same_bytes(content["text"].encode() if blob is None else base64.b64decode(blob), file)

    def read_all(skills: Sequence[dict[str, Any]]) -> None:
        files = [file for skill in skills for file in skill["files"].values()]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(read, files))

    server = target.url
    if target.transport == "stdio":
        command, *arguments = target.command
        entry = {"command": command, "args": arguments, "env": target.env}
        config = target.scratch / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {"skills": entry}}), "utf-8")
        server = f"{config}:skills"
    try:
        async with report.check("connect"):
            ask("connect", server, SESSION)
        async with report.check("list resources"):
            found = [each["uri"] for each in ask(SESSION, "resources-list")]
            contains(found, [skill["uri"] for skill in target.served], "resources")
        async with report.check("read every file"):
            read_all(target.skills)
        async with report.check("read ambiguous YAML"):
            read_all(target.ambiguous)
        async with report.check("read nonconforming skills"):
            read_all(target.nonconforming)
        skill = target.skill(target.folder["skill"])
        async with report.check("load a skill through tools"):
            contains([tool["name"] for tool in ask(SESSION, "tools-list")], ["load-skill"], "tools")
            answer = ask(SESSION, "tools-call", "load-skill", f"name:={skill['name']}")
            (text,) = (
                block["text"] for block in answer["content"] if "name: refunds" in block.get("text", "")
            )
            same_bytes(text.encode(), skill["files"]["SKILL.md"])
        async with report.check("read a file through tools"):
            arguments = {"skill": skill["name"], "path": "references/policy.md"}
            answer = ask(SESSION, "tools-call", "skill-resource", json.dumps(arguments))
            has(answer, "Thirty days.")
        async with report.check("prompts"):
            contains([each["name"] for each in ask(SESSION, "prompts-list")], [skill["name"]], "prompts")
            answer = ask(SESSION, "prompts-get", skill["name"])
            has(answer, "name: refunds")
    finally:
        program(*mcpc, "close", SESSION)
    report.support("resources", "tools", "prompts", "bytes of every file")


drive(body, npm_version(PACKAGE))
