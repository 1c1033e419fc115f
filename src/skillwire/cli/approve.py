"""`skillwire approve`: approve the current versions of servers' skills, or list approvals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Annotated

import anyio
from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from skillwire.cli.diff import print_changes
from skillwire.cli.remote import APPROVAL, find_unpacked, open_host, print_files
from skillwire.cli.select_skills import SelectedSkills, select_skills, targets_of
from skillwire.cli.skill_texts import print_texts
from skillwire.cli.state import open_existing_state, open_state
from skillwire.config.server_targets import Allow, TokenEnv
from skillwire.core.concurrency import process_in_order
from skillwire.core.patterns import is_pattern
from skillwire.errors import SkillwireError, UsageError
from skillwire.host.approvals.questions import Inspection
from skillwire.host.approve_all import ApprovalOutcome
from skillwire.host.connections.target import Target
from skillwire.host.host import Host
from skillwire.host.hosted_skill import HostedSkill
from skillwire.host.store.approvals import Approval, ApprovalStatus
from skillwire.safe_text import escape_invisible, quote_if_needed, quoted
from skillwire.terminal.messages import pluralize, print_notice
from skillwire.terminal.options import FromServers, NoPager, Yes, json_of
from skillwire.terminal.output import (
    ask,
    is_interactive,
    print_error,
    print_json,
    print_line,
    stderr_console,
    stdout_console,
)
from skillwire.terminal.pager import print_paged

_KEPT_AT_ONCE = 8
"""Maximum number of skills whose texts are read at once."""


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
    skills: Annotated[
        list[str] | None,
        Parameter(
            name="SKILL",
            help="`LABEL:NAME`, `LABEL:URI`, or a pattern such as `LABEL:*`. Without it, list all approvals.",
        ),
    ] = None,
    /,
    *,
    servers: FromServers = None,
    yes: Yes = False,
    no_pager: NoPager = False,
    allow: Allow = None,
    token_env: TokenEnv = None,
    json: Annotated[
        bool,
        json_of(
            "[{origin, uri, approval, approved_at, tools}] or {origin, uri, approval,"
            " bridge: {passed_on, reason}} or {approved: [{origin, uri, approval,"
            " bridge: {passed_on, reason}}], refused: [{skill, reason}]}"
        ),
    ] = False,
) -> int:
    """Approve skills of servers, each with exactly the files that its server lists now.

    Shows the skills, and what has changed since your last approvals. At the question, `d` shows the text
    that has changed. An approval ends when a file is added, removed or changed. It grants no tools to the
    skill. If the files are in an archive, the archive is fetched first. A warning tells you if `skillwire
    bridge` cannot offer a skill.

    A pattern applies to the skills that match now, not to those that the server adds later. A skill without
    a digest for each file cannot be approved here; hosts ask for it in each session. If you answer `d`, the
    text is stored, so that `skillwire diff` can show later changes.

    Exit code 1: you refused, or a skill could not be approved.

    For example:

    ```
    skillwire approve
    skillwire approve github:review
    skillwire approve 'acme:*' github:review
    skillwire approve review --from http://127.0.0.1:8765/mcp --yes
    ```
    """
    if not skills:
        return print_approvals(as_json=json)
    if json and not yes:
        raise UsageError("`--json` cannot ask for confirmation", hint="add `--yes` to approve without asking")
    targets = targets_of(skills, servers, allow, token_env)
    request = _Request(targets, yes=yes, as_json=json, pager=not no_pager)
    if len(skills) == 1 and not is_pattern(skills[0]):
        return anyio.run(request.approve_one, skills[0])
    return anyio.run(request.approve_many, skills)


@dataclass(frozen=True, slots=True)
class _Request:
    """One call of `approve`."""

    targets: Sequence[Target]
    yes: bool
    as_json: bool
    pager: bool

    async def approve_one(self, skill: str) -> int:
        """Show a skill, ask, and approve it. Return the exit code."""
        with open_state() as state:
            async with open_host(self.targets, state) as host:
                found = await find_unpacked(host, skill)
                bridge_problem = host.why_not_bridged(found)
                if found.approval_status is ApprovalStatus.APPROVED:
                    stderr_console().print(f"{found.quoted} is already approved in this version")
                    _warn_of_bridge(bridge_problem)
                    return self._done(_row(found, bridge_problem))
                if not found.claimed.lasting:
                    print_error(
                        f"cannot approve {found.quoted}: not all its files have digests",
                        hint=_hint_without_digests(found, bridge_problem),
                    )
                    return 1
                target = next(each for each in self.targets if each.label == found.label)
                if not self.as_json:
                    _print_request(await host.inspect(found), target)
                _warn_of_bridge(bridge_problem)
                answer = await self._ask(host, [found], "approve exactly this?")
                if answer is _Answer.NO:
                    return 1
                (outcome,) = await host.approve_all([found])
                if outcome.reason:
                    print_error(f"{found.quoted} was not approved: {outcome.reason}")
                    return 1
                stderr_console().print(f"approved {found.quoted}")
                if answer is _Answer.YES_AFTER_READING:
                    await _keep(host, [found])
                return self._done(_row(found, bridge_problem))

    def _done(self, row: dict[str, object]) -> int:
        if self.as_json:
            print_json(row)
        return 0

    async def approve_many(self, wanted: Sequence[str]) -> int:
        """Show the skills, ask once, and approve each of them. Return the exit code."""
        with open_state() as state:
            async with open_host(self.targets, state) as host:
                plan = await _plan(host, await select_skills(host, wanted))
                if not self.as_json:
                    await _print_plan(host, plan, pager=self.pager and not self.yes)
                outcomes: list[ApprovalOutcome] = []
                if plan.new:
                    question = f"approve exactly {_these(plan.new)}?"
                    answer = await self._ask(host, plan.new, question)
                    if answer is _Answer.NO:
                        return 1
                    outcomes = await host.approve_all(plan.new)
                    if answer is _Answer.YES_AFTER_READING:
                        await _keep(host, [each.skill for each in outcomes if not each.reason])
                refused = {each.skill.handle: each.reason for each in outcomes if each.reason}
                approved = [each.skill for each in outcomes if not each.reason]
                return self._report(host, plan, approved, {**plan.failed, **refused})

    def _report(
        self, host: Host, plan: "_Plan", approved: Sequence[HostedSkill], refused: Mapping[str, str]
    ) -> int:
        for name, reason in refused.items():
            print_error(f"{quoted(name)} was not approved: {reason}")
        counts = [f"{pluralize(len(approved), 'skill')} approved"]
        counts += [f"{len(plan.already):,} already approved"] if plan.already else []
        counts += [f"{len(plan.unbound):,} cannot be approved permanently"] if plan.unbound else []
        counts += [f"{len(refused):,} refused"] if refused else []
        stderr_console().print(", ".join(counts))
        if self.as_json:
            rows = [_row(each, host.why_not_bridged(each)) for each in (*plan.already, *approved)]
            reasons = [
                {"skill": escape_invisible(name), "reason": escape_invisible(reason)}
                for name, reason in refused.items()
            ]
            print_json({"approved": rows, "refused": reasons})
        return 1 if refused else 0

    async def _ask(self, host: Host, skills: Sequence[HostedSkill], question: str) -> "_Answer":
        """Return the answer of the user. After `d`, show the texts and ask again."""
        if self.yes:
            return _Answer.YES
        if not is_interactive():
            raise UsageError(
                "cannot ask for approval: stdin or stderr is not a terminal",
                hint="add `--yes` to approve without asking",
            )
        yes = _Answer.YES
        while (answer := ask(question, "d")) == "d":
            await print_texts(host, skills, pager=self.pager)
            yes = _Answer.YES_AFTER_READING
        if answer == "y":
            return yes
        stderr_console().print("nothing was approved")
        return _Answer.NO


class _Answer(Enum):
    """What the user answered to the question whether to approve."""

    NO = auto()
    YES = auto()
    YES_AFTER_READING = auto()
    """The texts were fetched to show them, so that copies of them can be kept."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What would happen to the selected skills."""

    new: Sequence[HostedSkill] = ()
    already: Sequence[HostedSkill] = ()
    unbound: Sequence[HostedSkill] = ()
    """Skills that a pattern matches, but that have files without digests."""
    failed: Mapping[str, str] = field(default_factory=dict[str, str])


async def _plan(host: Host, selected: SelectedSkills) -> _Plan:
    """Divide the skills by what would happen to them. Fetch archives, to know their files."""
    new, already, unbound = list[HostedSkill](), list[HostedSkill](), list[HostedSkill]()
    failed = dict(selected.failed)
    for identity, each in selected.found.items():
        try:
            skill = await host.with_files(each)
        except SkillwireError as error:
            failed[each.handle] = str(error)
            continue
        if skill.approval_status is ApprovalStatus.APPROVED:
            already.append(skill)
        elif skill.claimed.lasting:
            new.append(skill)
        elif identity in selected.named:
            failed[skill.handle] = f"not all its files have digests; {_hint_without_digests(skill, '')}"
        else:
            unbound.append(skill)
    return _Plan(new, already, unbound, failed)


async def _print_plan(host: Host, plan: _Plan, *, pager: bool) -> None:
    """Print one line for each skill, with its files and what has changed since the last approval."""
    console = stdout_console()
    with console.capture() as captured:
        await _print_planned(console, host, plan)
    print_paged(console, captured.get(), pager=pager)


async def _print_planned(console: Console, host: Host, plan: _Plan) -> None:
    for skill in plan.new:
        inspection = await host.inspect(skill)
        size = "" if inspection.size is None else f", {inspection.size:,} bytes"
        files = f"{pluralize(len(inspection.files or ()), 'file')}{size}"
        status = APPROVAL[skill.approval_status].removeprefix("none: ").replace("none", "new")
        console.print(Text.assemble((skill.handle, "bold cyan"), f"  {files}  ({status})"))
        for effect in inspection.effects:
            console.print(
                Text.assemble(("  asks for: ", "yellow"), quoted(effect), "  (not granted by this)")
            )
        if inspection.changes:
            console.print(Text(f"  {inspection.changes}", style="yellow"))
        if problem := host.why_not_bridged(skill):
            console.print(
                Text(f"  `skillwire bridge` cannot offer it: {escape_invisible(problem)}", "yellow")
            )
    for skill in plan.unbound:
        reason = "not all its files have digests, so hosts ask in each session"
        console.print(Text.assemble((skill.handle, "cyan"), f"  left out: {reason}"))


def _these(skills: Sequence[HostedSkill]) -> str:
    return "this skill" if len(skills) == 1 else f"these {len(skills):,} skills"


async def _keep(host: Host, skills: Sequence[HostedSkill]) -> None:
    """Store copies of the texts of approved skills. Print how many files could not be stored."""
    failures: list[int] = []

    async def keep(skill: HostedSkill) -> int:
        try:
            return await host.keep_texts(skill)
        except SkillwireError:
            return 1

    await process_in_order(skills, keep, failures.append, _KEPT_AT_ONCE)
    if failed := sum(failures):
        verb = "is" if failed == 1 else "are"
        files = pluralize(failed, "file")
        print_notice(f"{files} {verb} not kept, so `skillwire diff` cannot show later changes in full")


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
