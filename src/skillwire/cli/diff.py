"""`skillwire diff`: show how a server's skill differs from the approved version."""

from collections.abc import Sequence
from typing import Annotated

import anyio
from rich.text import Text

from skillwire.cli.remote import find_unpacked, open_host
from skillwire.cli.state import open_state
from skillwire.cli.targets import Allow, TokenEnv, skill_targets
from skillwire.host.approvals.questions import Changes
from skillwire.host.connections.target import Target
from skillwire.host.hosted_skill import HostedSkill
from skillwire.safe_text import quote_if_needed
from skillwire.terminal.options import FromServers, ServerSkill, json_of
from skillwire.terminal.output import print_json, stderr_console, stdout_console


def diff(
    skill: ServerSkill,
    /,
    *,
    servers: FromServers = None,
    allow: Allow = None,
    token_env: TokenEnv = None,
    json: Annotated[
        bool, json_of("{uri, origin, approval, changes: {added, removed, rotated, fields}}")
    ] = False,
) -> int:
    """Show how a server's skill differs from the version that you approved.

    Compares digests, and reads no files. If the files are in an archive, the archive is fetched to list
    them.

    Exit code 0: the skill has not changed. 1: it has changed, or you never approved it.

    For example:

    ```
    skillwire diff github:review
    skillwire diff review --from http://127.0.0.1:8765/mcp
    ```
    """
    found, changes = anyio.run(_diff, skill, skill_targets(skill, servers, allow, token_env))
    if json:
        print_json(_as_json(found, changes))
    elif changes is None:
        stderr_console().print(
            f"{found.quoted} was never approved; `skillwire approve {found.handle}` shows it and asks you"
        )
    elif changes:
        print_changes(changes)
    else:
        stderr_console().print(f"{found.quoted} has not changed since you approved it")
    return 0 if changes is not None and not changes else 1


async def _diff(skill: str, targets: Sequence[Target]) -> tuple[HostedSkill, Changes | None]:
    with open_state() as state:
        async with open_host(targets, state) as host:
            found = await find_unpacked(host, skill)
            return found, await host.diff(found)


def print_changes(changes: Changes) -> None:
    """Print one line for each changed file or frontmatter field, and one if other files have digests now."""
    marks = (("+", "green", changes.added), ("-", "red", changes.removed), ("~", "yellow", changes.modified))
    for mark, style, paths in marks:
        for path in paths:
            stdout_console().print(Text(f"{mark} {quote_if_needed(path)}", style=style))
    for field in changes.fields:
        stdout_console().print(Text(f"~ frontmatter field {quote_if_needed(field)}", style="yellow"))
    if changes.integrity:
        stdout_console().print(Text("~ which files have digests", style="yellow"))


def _as_json(found: HostedSkill, changes: Changes | None) -> dict[str, object]:
    return {
        "uri": found.uri,
        "origin": found.label,
        "approval": found.approval_status.value,
        "changes": None
        if changes is None
        else {
            "added": changes.added,
            "removed": changes.removed,
            "rotated": changes.modified,
            "fields": changes.fields,
        },
    }
