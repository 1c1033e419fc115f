"""`skillwire diff`: show how a server's skill differs from the approved version."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import anyio
from cyclopts import Parameter
from rich.text import Text

from skillwire.cli.remote import find_unpacked, open_host
from skillwire.cli.skill_texts import print_texts
from skillwire.cli.state import open_state
from skillwire.cli.targets import skill_targets
from skillwire.config.server_targets import Allow, TokenEnv
from skillwire.host.approvals.questions import Changes
from skillwire.host.connections.target import Target
from skillwire.host.hosted_skill import HostedSkill
from skillwire.safe_text import quote_if_needed, quoted
from skillwire.terminal.options import FromServers, NoPager, ServerSkill, json_of
from skillwire.terminal.output import print_json, stderr_console, stdout_console


def diff(
    skill: ServerSkill,
    /,
    *,
    servers: FromServers = None,
    allow: Allow = None,
    token_env: TokenEnv = None,
    summary: Annotated[bool, Parameter(help="Only list what has changed. Reads no files.")] = False,
    no_pager: NoPager = False,
    json: Annotated[
        bool, json_of("{uri, origin, approval, changes: {added, removed, rotated, fields}}")
    ] = False,
) -> int:
    """Show how a server's skill differs from the version that you approved.

    Lists the changed files, then shows a unified diff of the text that you approved and the current text.
    Both texts are checked against their digests first. Control characters are made visible. If there is no
    copy of the approved text, shows the whole current text. With `--summary` or `--json`, compares only
    digests, and reads no files. If the files are in an archive, the archive is fetched.

    Exit code 0: the skill has not changed. 1: it has changed, or you never approved it.

    For example:

    ```
    skillwire diff github:review
    skillwire diff review --from http://127.0.0.1:8765/mcp
    ```
    """
    targets = skill_targets(skill, servers, allow, token_env)
    return anyio.run(_diff, skill, targets, _View(summary, not no_pager, json))


@dataclass(frozen=True, slots=True)
class _View:
    """What to print."""

    summary: bool
    pager: bool
    as_json: bool


async def _diff(skill: str, targets: Sequence[Target], view: _View) -> int:
    with open_state() as state:
        async with open_host(targets, state) as host:
            found = await find_unpacked(host, skill)
            changes = await host.diff(found)
            if view.as_json:
                print_json(_as_json(found, changes))
            elif changes is None:
                hint = f"{quoted(host.suggest('approve', found.handle), None)} shows it and asks you"
                if not found.claimed.lasting:
                    hint = "it has no digests for all its files, so it cannot be approved permanently"
                stderr_console().print(f"{found.quoted} was never approved; {hint}")
            elif changes:
                print_changes(changes)
                if not view.summary:
                    await print_texts(host, [found], pager=view.pager)
            else:
                stderr_console().print(f"{found.quoted} has not changed since you approved it")
            return 0 if changes is not None and not changes else 1


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
