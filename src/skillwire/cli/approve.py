"""`skillwire approve`: approve the current version of a server's skill, or list approvals."""

from collections.abc import Sequence
from typing import Annotated

import anyio
from cyclopts import Parameter
from rich.table import Table
from rich.text import Text

from skillwire.cli.diff import print_changes
from skillwire.cli.remote import find_unpacked, open_host, print_files
from skillwire.cli.state import open_existing_state, open_state
from skillwire.cli.targets import Allow, TokenEnv, skill_targets
from skillwire.errors import UsageError
from skillwire.host.approvals.questions import Inspection
from skillwire.host.connections.target import Target
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.store.approvals import Approval, ApprovalStatus
from skillwire.safe_text import escape_invisible, quote_if_needed, quoted
from skillwire.terminal.options import FromServers, Yes, json_of
from skillwire.terminal.output import (
    confirm,
    is_interactive,
    print_json,
    print_line,
    stderr_console,
    stdout_console,
)


def print_approvals(*, as_json: bool) -> int:
    """Print all stored approvals, including those that have ended. Return the exit code."""
    with open_existing_state() as state:
        found = [] if state is None else state.approvals.all()
    console = stdout_console()
    if as_json:
        print_json([_approval_row(each) for each in found])
    elif not found:
        stderr_console().print("nothing is approved")
    elif not console.is_terminal:  # one line per approval, for `grep` and `cut`
        for each in found:
            print_line(
                f"{each.approval_status.value}\t{each.label}\t{escape_invisible(each.uri)}\t{each.when.isoformat()}"
            )
    else:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for column in ("state", "server", "uri", "approved"):
            table.add_column(column, style="cyan" if column == "server" else "")
        for each in found:
            table.add_row(
                each.approval_status.value,
                each.label,
                Text(escape_invisible(each.uri)),
                f"{each.when:%Y-%m-%d %H:%M}",
            )
        console.print(table, soft_wrap=False)
    return 0


def _approval_row(approval: Approval) -> dict[str, object]:
    return {
        "origin": approval.label,
        "uri": approval.uri,
        "approval": approval.approval_status.value,
        "approved_at": approval.when.isoformat(),
        "tools": list(approval.tools),
    }


def approve(
    skill: Annotated[
        str | None,
        Parameter(name="SKILL", help="`LABEL:NAME` or `LABEL:URI`. Without it, list all approvals."),
    ] = None,
    /,
    *,
    servers: FromServers = None,
    yes: Yes = False,
    allow: Allow = None,
    token_env: TokenEnv = None,
    json: Annotated[
        bool,
        json_of(
            "[{origin, uri, approval, approved_at, tools}] or {origin, uri, approval,"
            " bridge: {passed_on, reason}}"
        ),
    ] = False,
) -> int:
    """Approve a server's skill, with exactly the files that the server lists now.

    Shows the skill, and what has changed since your last approval. The approval ends when a file is added,
    removed or changed. It grants no tools to the skill. If the files are in an archive, the archive is
    fetched first. A warning tells you if `skillwire bridge` cannot offer the skill.

    Exit code 1: you refused.

    For example:

    ```
    skillwire approve
    skillwire approve github:review
    skillwire approve review --from http://127.0.0.1:8765/mcp --yes
    ```
    """
    if skill is None:
        return print_approvals(as_json=json)
    if json and not yes:
        raise UsageError("`--json` cannot ask for confirmation", hint="add `--yes` to approve without asking")
    targets = skill_targets(skill, servers, allow, token_env)
    done = anyio.run(_approve, skill, targets, yes, json)
    if done is None:
        return 1
    if json:
        print_json(done)
    return 0


async def _approve(
    skill: str,
    targets: Sequence[Target],
    yes: bool,  # noqa: FBT001 - `anyio.run` names nothing
    as_json: bool,  # noqa: FBT001
) -> dict[str, object] | None:
    """Approve a skill. Return the approval as JSON, or None if the user refused."""
    with open_state() as state:
        async with open_host(targets, state) as host:
            found = await find_unpacked(host, skill)
            bridge_problem = host.why_not_bridged(found)
            if found.approval_status is ApprovalStatus.APPROVED:
                stderr_console().print(f"{found.quoted} is already approved in this version")
                _warn_of_bridge(bridge_problem)
                return _row(found, bridge_problem)
            if not found.claimed.lasting:
                raise UsageError(
                    f"cannot approve {found.quoted}: not all its files have digests",
                    hint=_hint_without_digests(found, bridge_problem),
                )
            target = next(each for each in targets if each.label == found.label)
            if not as_json:
                _print_request(await host.inspect(found), target)
            _warn_of_bridge(bridge_problem)
            if not yes and not is_interactive():
                raise UsageError(
                    "cannot ask for approval: stdin or stderr is not a terminal",
                    hint="add `--yes` to approve without asking",
                )
            if not yes and not confirm("approve exactly this?"):
                stderr_console().print("nothing was approved")
                return None
            await host.approve(found)
            stderr_console().print(f"approved {found.quoted}")
            return _row(found, bridge_problem)


def _hint_without_digests(found: HostedSkill, bridge_problem: str) -> str:
    """Return the hint for a skill that cannot be approved because files have no digests."""
    bridge = (
        f"`skillwire bridge` cannot offer it: {bridge_problem}"
        if bridge_problem
        else f"`skillwire bridge` offers it only with `--trust {found.label}`"
    )
    return f"hosts ask for approval each time it is used; {bridge}"


def _warn_of_bridge(bridge_problem: str) -> None:
    """Print a warning if `skillwire bridge` cannot offer the skill."""
    if bridge_problem:
        message = (
            f"`skillwire bridge` cannot offer it: {bridge_problem}. Hosts can use it with your approval."
        )
        stderr_console().print(Text(escape_invisible(message), style="yellow"))


def _row(found: HostedSkill, bridge_problem: str) -> dict[str, object]:
    return {
        "origin": found.label,
        "uri": found.uri,
        "approval": ApprovalStatus.APPROVED.value,
        "bridge": {"passed_on": not bridge_problem, "reason": escape_invisible(bridge_problem) or None},
    }


def _print_request(request: Inspection, target: Target) -> None:
    """Print the skill, its server, its files and what has changed since the last approval."""
    console, found = stdout_console(), request.skill
    console.print(Text.assemble((found.handle, "bold cyan"), f"  {quoted(found.description, None)}"))
    console.print(
        Text.assemble(("server: ", "bold"), escape_invisible(f"{found.label}, {target.as_written}", 2000))
    )
    console.print(Text.assemble(("uri: ", "bold"), quote_if_needed(found.uri)))
    for effect in request.effects:
        console.print(Text.assemble(("asks for: ", "bold yellow"), quoted(effect), "  (not granted by this)"))
    print_files(request)
    if request.changes:
        console.print(Text("changed since you approved it:", style="bold yellow"))
        print_changes(request.changes)
