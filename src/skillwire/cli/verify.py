"""`skillwire verify`: whether a server keeps what it promises of its skills."""

from typing import Annotated, Any

import anyio
from cyclopts import Parameter

from skillwire.cli.output import counted, data, print_error, print_json, talk
from skillwire.host.client import SkillsClient
from skillwire.host.surfaces import SurfaceReport, compare_surfaces
from skillwire.host.target import Target, UnreachableError, connected
from skillwire.host.verifying import Outcome, Report, SkillReport, verify_server
from skillwire.model.display import visible


def verify(
    server: Annotated[
        str, Parameter(name="SERVER", help="The URL of a server; or `--` and the command that starts one.")
    ],
    /,
    *,
    surfaces: Annotated[
        bool, Parameter(help="Also compare each prompt with the resources of the skill that it names.")
    ] = False,
    require_digests: Annotated[
        bool, Parameter(help="Skills whose content is made when it is read count as a fault.")
    ] = False,
    json: Annotated[bool, Parameter(help="Print everything that was found as JSON.")] = False,
) -> int:
    """Read every file of every skill of a server, and compare it with what is listed.

    Each entry is looked at, each file read and compared with its size and digest, each frontmatter with its
    document. A match proves that the server is consistent; it says nothing about what the skills want.

    Exit code 0: all is as listed. 4: no server answered. 7: something is not as it should be. 8: not
    everything could be read. 9: with `--require-digests`, a skill has no digests.

    For example:

    ```
    skillwire verify http://127.0.0.1:8765/mcp
    skillwire verify --surfaces -- python server.py
    ```
    """
    return anyio.run(_verify, Target.parse(server), surfaces, require_digests, json)


async def _verify(target: Target, surfaces: bool, require_digests: bool, as_json: bool) -> int:  # noqa: FBT001
    try:
        async with connected(target) as connection:
            client = SkillsClient(connection)
            report = await verify_server(client)
            compared = [each async for each in compare_surfaces(client)] if surfaces else []
    except UnreachableError as error:
        print_error(str(error), hint="is the server running, and is that its address or command?")
        return Outcome.UNREACHABLE
    report.findings += [each.finding for each in compared if each.finding is not None]
    outcome = report.outcome(require_digests=require_digests)
    if as_json:
        print_json(_as_json(target, report, compared, outcome))
    else:
        _print(report, compared)
        talk().print(_summary(report, compared, outcome))
    return outcome


def _print(report: Report, compared: list[SurfaceReport]) -> None:
    for skill in report.skills:
        state = "dynamic, " if skill.dynamic else ""
        told = f"{state}{counted(skill.files, 'file')}, {counted(skill.size, 'byte')} as listed"
        data().print(f"{visible(skill.uri)}: {told if not skill.findings else 'NOT as listed'}")
    for each in compared:
        if each.finding is None:
            size = counted(each.size, "byte")
            told = f"{size} of the prompt are those of {counted(each.resources, 'resource')}"
            data().print(f"{visible(each.prompt)}: {told}")
    for finding in report.all_findings():
        data().print(f"{finding} ({finding.fault})")


def _summary(report: Report, compared: list[SurfaceReport], outcome: Outcome) -> str:
    good = sum(not skill.findings for skill in report.skills)
    pairs = sum(each.finding is None for each in compared)
    surfaces = f", {counted(pairs, 'prompt')} equal to the resources" if compared else ""
    verdict = outcome.name.lower().replace("_", " ")
    return f"{verdict}: {good} of {counted(len(report.skills), 'skill')} as listed{surfaces}; " + counted(
        len(report.all_findings()), "finding"
    )


def _as_json(target: Target, report: Report, compared: list[SurfaceReport], outcome: Outcome) -> Any:
    return {
        "server": visible(target.label),
        "outcome": outcome.name.lower().replace("_", "-"),
        "skills": [_skill(skill) for skill in report.skills],
        "surfaces": [
            {"prompt": visible(each.prompt), "skill": visible(each.skill), "bytes": each.size}
            for each in compared
            if each.finding is None
        ],
        "findings": [finding.to_json() for finding in report.findings],
    }


def _skill(skill: SkillReport) -> dict[str, Any]:
    return {
        "uri": visible(skill.uri),
        "dynamic": skill.dynamic,
        "files": skill.files,
        "bytes": skill.size,
        "findings": [finding.to_json() for finding in skill.findings],
    }
