"""`skillwire verify`: compare a server's skills with its list, and optionally its prompts with its skills."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Any

import anyio
from cyclopts import Parameter

from skillwire.config.server_targets import Allow, TokenEnv, resolve_targets
from skillwire.core.problem import Problem, Rule
from skillwire.errors import LoginRequiredError, UnavailableError, UsageError
from skillwire.host.compare_prompts import PromptReport, compare_prompts
from skillwire.host.connections.connect import connected
from skillwire.host.connections.target import Target
from skillwire.host.dialects.client import Listing, SkillsClient
from skillwire.host.own_problems import lists_own_problems, read_own_problems
from skillwire.host.verify import Outcome, Report, SkillReport, verify_server
from skillwire.protocol.claims import Integrity
from skillwire.protocol.findings import server_problem
from skillwire.safe_text import escape_invisible
from skillwire.terminal.messages import pluralize, print_notice
from skillwire.terminal.options import json_of
from skillwire.terminal.output import print_error, print_json, stderr_console, stdout_console

_TIMEOUT = 300.0
_PROMISED = {Integrity.FULL: "", Integrity.PART: "some digests missing, ", Integrity.NONE: "no digests, "}
_CHECK_SERVER = "check that the server is running, and its URL or command"
_NOT_COMPARED = "no prompt names its skill, so no prompt was compared"


@dataclass(slots=True)
class _Found:
    """The results of a verification so far."""

    report: Report = field(default_factory=Report)
    compared: list[PromptReport] = field(default_factory=list[PromptReport])
    notes: list[str] = field(default_factory=list[str])
    """Remarks that do not count as findings."""
    own_problems: list[str] = field(default_factory=list[str])
    """What the server itself reports about its skills. It has no effect on the outcome."""
    answered: bool = False
    complete: bool = False


def verify(
    server: Annotated[
        str,
        Parameter(name="SERVER", help="Label or URL of a server, or `--` and the command that starts it."),
    ],
    /,
    *,
    surfaces: Annotated[
        bool, Parameter(help="Also compare each prompt with the resources of its skill.")
    ] = False,
    require_digests: Annotated[bool, Parameter(help="Fail if a skill has files without digests.")] = False,
    no_drafts: Annotated[
        bool, Parameter(help="Use only the current version of the extension, not its earlier drafts.")
    ] = False,
    timeout: Annotated[
        float,
        Parameter(
            name="--timeout",
            metavar="SECONDS",
            show_default=lambda value: f"{value:g}",
            help="Stop after this time, and report the results so far.",
        ),
    ] = _TIMEOUT,
    token_env: TokenEnv = None,
    allow: Allow = None,
    json: Annotated[
        bool,
        json_of(
            "{server, address, dialect, outcome, skills: [{uri, dynamic, integrity, files,"
            " bytes, findings}], surfaces: [{prompt, skill, bytes}], notes, findings: [{uri,"
            " fault, message}]}"
        ),
    ] = False,
) -> int:
    """Read every file of a server's skills, and compare it with the server's list.

    Compares each file with its listed size and digest, and each listed frontmatter with the `SKILL.md`. Also
    verifies skills that the server offers as resources but does not list as skills. Does not judge what the
    skills tell a model to do. The problems that the server itself reports in `skillwire://problems` are
    printed to stderr, and do not change the exit code.

    Exit code 0: everything matches the list. 4: the server did not answer, or requires a login. 7: something
    differs or breaks a rule. 8: something was not read, or not in time. 9: with `--require-digests`, a file
    has no digest.

    For example:

    ```
    skillwire verify http://127.0.0.1:8765/mcp
    skillwire verify github
    skillwire verify --surfaces -- python server.py
    ```
    """
    if not (timeout > 0 and math.isfinite(timeout)):
        raise UsageError(
            f"`--timeout {timeout:g}` is not a number of seconds above 0", hint="for example `--timeout 60`"
        )
    (target,) = resolve_targets([server], allow, token_env)
    found = _Found()
    try:
        anyio.run(_verify, target, found, surfaces, not no_drafts, timeout)
    except LoginRequiredError as error:
        print_error(str(error))
        return Outcome.UNREACHABLE
    except UnavailableError as error:
        print_error(str(error), hint="" if target.exposed else _CHECK_SERVER)
        return Outcome.UNREACHABLE
    if not found.complete:
        if not found.answered:
            print_error(
                f"{target.label}: no answer within {timeout:g} seconds", hint="wait longer with `--timeout`"
            )
            return Outcome.UNREACHABLE
        message = f"verification stopped after {timeout:g} seconds, before it was complete"
        found.report.note(server_problem(target.label, Rule.TIMEOUT, message))
    outcome = found.report.outcome(require_digests=require_digests)
    if json:
        print_json(_as_json(target, found, outcome))
    else:
        _print(found)
        stderr_console().print(_summary(found, outcome))
    for line in found.own_problems:
        print_notice(line)
    return outcome


async def _verify(target: Target, found: _Found, surfaces: bool, drafts: bool, timeout: float) -> None:  # noqa: ASYNC109, FBT001
    """Verify the server, for at most `timeout` seconds. Adds the results to `found`."""
    with anyio.move_on_after(timeout):
        async with connected(target) as connection:
            found.answered = True
            client = SkillsClient(connection, legacy_flags=drafts)
            await verify_server(client, found.report, drafts=drafts)
            if surfaces and client.declared is not None:
                async for each in compare_prompts(client):
                    found.compared.append(each)
                    if each.finding is not None:
                        found.report.note(each.finding)
                if not found.compared:
                    found.notes.append(_NOT_COMPARED)
            found.complete = True
            if client.declared is not None and client.offers_resources:
                client.refill()
                if await lists_own_problems(client.resources(Listing())):
                    found.own_problems += await read_own_problems(client.read)


def _print(found: _Found) -> None:
    for skill in found.report.skills:
        state = "dynamic, " if skill.dynamic else _PROMISED[skill.integrity]
        result = f"{state}{pluralize(skill.files, 'file')}, {pluralize(skill.size, 'byte')} as listed"
        if not skill.conforms:
            result += ", but strict clients reject it"
        stdout_console().print(f"{escape_invisible(skill.uri)}: {result if skill.good else 'NOT as listed'}")
    for each in found.compared:
        if each.finding is None:
            size = pluralize(each.size, "byte")
            result = f"{size} of the prompt equal {pluralize(each.resources, 'resource')}"
            stdout_console().print(f"{escape_invisible(each.prompt)}: {result}")
    for finding in found.report.all_findings():
        stdout_console().print(f"{finding} ({finding.rule})")


def _summary(found: _Found, outcome: Outcome) -> str:
    skills = found.report.skills
    good = sum(skill.good for skill in skills)
    pairs = sum(each.finding is None for each in found.compared)
    surfaces = f", {pluralize(pairs, 'prompt')} equal to the resources" if found.compared else ""
    verdict = outcome.name.lower().replace("_", " ")
    result = f"{verdict}: {good:,} of {pluralize(len(skills), 'skill')} as listed{surfaces}"
    return "; ".join([result, *found.notes, pluralize(found.report.count, "finding")])


def _as_json(target: Target, found: _Found, outcome: Outcome) -> Any:
    return {
        "server": target.label,
        "address": escape_invisible(target.as_written),
        "dialect": found.report.dialect,
        "outcome": outcome.name.lower().replace("_", "-"),
        "skills": [_skill(skill) for skill in found.report.skills],
        "surfaces": [
            {
                "prompt": escape_invisible(each.prompt),
                "skill": escape_invisible(each.skill),
                "bytes": each.size,
            }
            for each in found.compared
            if each.finding is None
        ],
        "notes": found.notes,
        "findings": [_finding(finding) for finding in found.report.other_findings()],
    }


def _skill(skill: SkillReport) -> dict[str, Any]:
    return {
        "uri": escape_invisible(skill.uri),
        "dynamic": skill.dynamic,
        "integrity": skill.integrity,
        "files": skill.files,
        "bytes": skill.size,
        "findings": [_finding(finding) for finding in skill.findings],
    }


def _finding(problem: Problem) -> dict[str, str]:
    """Return a problem as JSON, with the keys `uri`, `fault` and `message`."""
    return {
        "uri": escape_invisible(problem.path),
        "fault": problem.rule,
        "message": escape_invisible(problem.message),
    }
