"""`skillwire verify`: whether a server keeps what it promises of its skills."""

import math
from dataclasses import dataclass, field
from typing import Annotated, Any

import anyio
from cyclopts import Parameter

from skillwire.cli.targets import Allow, TokenEnv, resolve_targets
from skillwire.core.problem import Problem, Rule
from skillwire.errors import LoginRequiredError, UnavailableError, UsageError
from skillwire.host.compare_prompts import PromptReport, compare_prompts
from skillwire.host.connections.connect import connected
from skillwire.host.connections.target import Target
from skillwire.host.dialects.client import SkillsClient
from skillwire.host.verify import Outcome, Report, SkillReport, verify_server
from skillwire.protocol.findings import server_problem
from skillwire.protocol.remote import Integrity
from skillwire.safe_text import escape_invisible
from skillwire.terminal.messages import pluralize
from skillwire.terminal.output import print_error, print_json, stderr_console, stdout_console

_TIMEOUT = 300.0
_PROMISED = {Integrity.FULL: "", Integrity.PART: "digests in part, ", Integrity.NONE: "no digests, "}
_NOT_COMPARED = "no prompt names its skill: nothing was compared"


@dataclass(slots=True)
class _Found:
    """What was found so far."""

    report: Report = field(default_factory=Report)
    compared: list[PromptReport] = field(default_factory=list[PromptReport])
    notes: list[str] = field(default_factory=list[str])
    """What is no fault, but should be known."""
    answered: bool = False
    complete: bool = False


def verify(
    server: Annotated[
        str,
        Parameter(name="SERVER", help="A server's label or URL; or `--` and the command that starts one."),
    ],
    /,
    *,
    surfaces: Annotated[
        bool, Parameter(help="Also compare each prompt with the resources of the skill that it names.")
    ] = False,
    require_digests: Annotated[
        bool, Parameter(help="Skills that have files without digests count as a fault.")
    ] = False,
    no_drafts: Annotated[
        bool, Parameter(help="Ask only as the extension is now, and not in the words of earlier drafts.")
    ] = False,
    timeout: Annotated[
        float, Parameter(name="--timeout", help="Seconds after which what was found so far is told.")
    ] = _TIMEOUT,
    token_env: TokenEnv = None,
    allow: Allow = None,
    json: Annotated[bool, Parameter(help="Print everything that was found as JSON.")] = False,
) -> int:
    """Read every file of every skill of a server, and compare it with what is listed.

    Each entry is looked at, each file read and compared with its size and digest, each frontmatter with its
    document. Skills that are resources and not in the list are verified, too. A match proves that the server
    is consistent; it says nothing about what the skills want.

    Exit code 0: all is as listed. 4: no server answered. 7: something is not as it should be. 8: not
    everything could be read, or not in time. 9: with `--require-digests`, a skill has no digests.

    For example:

    ```
    skillwire verify http://127.0.0.1:8765/mcp
    skillwire verify github
    skillwire verify --surfaces -- python server.py
    ```
    """
    if not (timeout > 0 and math.isfinite(timeout)):
        raise UsageError(
            f"`--timeout {timeout}` is no number of seconds above zero", hint="as in `--timeout 60`"
        )
    (target,) = resolve_targets([server], allow, token_env)
    found = _Found()
    try:
        anyio.run(_verify, target, found, surfaces, not no_drafts, timeout)
    except LoginRequiredError as error:
        print_error(str(error))
        return Outcome.UNREACHABLE
    except UnavailableError as error:
        print_error(str(error), hint="is the server running, and is that its address or command?")
        return Outcome.UNREACHABLE
    if not found.complete:
        told = f"not everything was looked at in {timeout:g} seconds"
        if not found.answered:
            print_error(f"{target.label}: {told}: no answer came", hint="wait longer, with `--timeout`")
            return Outcome.UNREACHABLE
        found.report.note(server_problem(target.label, Rule.TIMEOUT, told))
    outcome = found.report.outcome(require_digests=require_digests)
    if json:
        print_json(_as_json(target, found, outcome))
    else:
        _print(found)
        stderr_console().print(_summary(found, outcome))
    return outcome


async def _verify(target: Target, found: _Found, surfaces: bool, drafts: bool, timeout: float) -> None:  # noqa: ASYNC109, FBT001
    """Fill `found` for as long as there is time."""
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


def _print(found: _Found) -> None:
    for skill in found.report.skills:
        state = "dynamic, " if skill.dynamic else _PROMISED[skill.integrity]
        told = f"{state}{pluralize(skill.files, 'file')}, {pluralize(skill.size, 'byte')} as listed"
        if not skill.conforms:
            told += ", but strict clients refuse it"
        stdout_console().print(f"{escape_invisible(skill.uri)}: {told if skill.good else 'NOT as listed'}")
    for each in found.compared:
        if each.finding is None:
            size = pluralize(each.size, "byte")
            told = f"{size} of the prompt are those of {pluralize(each.resources, 'resource')}"
            stdout_console().print(f"{escape_invisible(each.prompt)}: {told}")
    for finding in found.report.all_findings():
        stdout_console().print(f"{finding} ({finding.rule})")


def _summary(found: _Found, outcome: Outcome) -> str:
    skills = found.report.skills
    good = sum(skill.good for skill in skills)
    pairs = sum(each.finding is None for each in found.compared)
    surfaces = f", {pluralize(pairs, 'prompt')} equal to the resources" if found.compared else ""
    verdict = outcome.name.lower().replace("_", " ")
    told = f"{verdict}: {good} of {pluralize(len(skills), 'skill')} as listed{surfaces}"
    return "; ".join([told, *found.notes, pluralize(found.report.count, "finding")])


def _as_json(target: Target, found: _Found, outcome: Outcome) -> Any:
    return {
        "server": target.label,
        "address": escape_invisible(target.spelled),
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
    """Return a problem under the keys that scripts know."""
    return {
        "uri": escape_invisible(problem.path),
        "fault": problem.rule,
        "message": escape_invisible(problem.message),
    }
