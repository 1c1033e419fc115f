"""The MCP Inspector's command line: strict verification of every skill, on both protocol versions."""

import base64
import json
from typing import Any

from driving import Report, Target, drive, npm_version, program, same, same_bytes

PACKAGE = "@modelcontextprotocol/inspector"
ERAS = {"modern": "protocol 2026-07-28", "legacy": "protocol 2025-11-25"}


def ask(target: Target, era: str, *method: str) -> list[dict[str, Any]]:
    """Run the Inspector once; return the JSON values that it printed."""
    inspector = target.environment / "node_modules" / PACKAGE / "clients/launcher/build/index.js"
    options = ("--cli", "--protocol-era", era, "--format", "json", "--quiet", "--method", *method)
    if target.transport == "http":
        server = ["--transport", "http", target.url]
    else:
        server = ["--transport", "stdio", "--", *target.command]
    done = program(target.node, inspector, *options, *server)
    same(done.returncode, 0, f"exit code, after {done.stderr.decode()[-800:]!r}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def verified(reports: list[dict[str, Any]], skills: list[dict[str, Any]]) -> None:
    """Check that the Inspector verified exactly the served files."""
    wanted = {skill["uri"]: skill for skill in skills}
    same(sorted(each["uri"] for each in reports), sorted(wanted), "verified skills")
    for each in reports:
        same((each["outcome"], each["conformance"], each["frontmatter"]), ("verified", [], []), each["uri"])
        digests = {file["uri"]: file["actualDigest"] for file in each["files"]}
        files = wanted[each["uri"]]["files"].values()
        same(digests, {file["uri"]: f"sha256:{file['sha256']}" for file in files}, f"files of {each['uri']}")


async def body(target: Target, report: Report) -> None:
    verify = ("--verify", "--require-digests")
    for era, protocol in ERAS.items():
        async with report.check(f"{protocol}: verify the list"):
            verified(ask(target, era, "skills/list", *verify), target.listed)
        async with report.check(f"{protocol}: verify one skill"):
            skill = target.skill(target.folder["skill"])
            verified(ask(target, era, "skills/get", "--uri", skill["uri"], *verify), [skill])
        async with report.check(f"{protocol}: directory"):
            (answer,) = ask(target, era, "resources/directory/read", "--uri", target.folder["uri"])
            same(sorted(each["uri"] for each in resources(answer)), target.folder["children"], "children")
        async with report.check(f"{protocol}: list nonconforming skills as resources"):
            (answer,) = ask(target, era, "resources/list")
            found = {each["uri"] for each in resources(answer)}
            same(sorted({skill["uri"] for skill in target.served} - found), [], "missing resources")
        async with report.check(f"{protocol}: read a binary file"):
            file = target.skill(target.folder["skill"])["files"]["assets/every.bin"]
            (answer,) = ask(target, era, "resources/read", "--uri", file["uri"])
            (content,) = answer.get("result", answer)["contents"]
            same_bytes(base64.b64decode(content["blob"]), file)
    report.support("list", "get", "read", "directory", *ERAS.values())


def resources(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return answer.get("result", answer)["resources"]


drive(body, npm_version(PACKAGE))
